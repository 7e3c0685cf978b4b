package cmd

import (
	"github.com/spf13/cobra"

	"govsvc/server/openapi"
)

func (a *app) openapiCommand() *cobra.Command {
	var service openapi.Service
	c := &cobra.Command{
		Use:   "openapi",
		Short: "Print the API's OpenAPI 3.1 document",
		Long: `Print the OpenAPI 3.1 document of the API, as it is served at /openapi.json
below the base URL: one JSON value, with or without --json.

The document names the address of the service. A running service fills in its
own; here --base-url gives it, and the default is that of "govsvc serve".`,
		Example: `  govsvc openapi > openapi.json
  govsvc openapi --base-url https://gov.example.com > openapi.json
  govsvc openapi | jq '.paths | keys'`,
		Args: arguments(),
		RunE: func(*cobra.Command, []string) error {
			document, err := a.document()
			if err != nil {
				return err
			}
			_, err = a.stdout.Write(append(document.Published(service), '\n'))
			return err
		},
	}
	c.Flags().Var(webAddress{&service.BaseURL}, "base-url", "the service's address, without a path; default: http://127.0.0.1:8080")
	c.Flags().Var(contact{&service.Contact}, "contact", "e-mail address or URL that the document names as the contact; default: none")
	a.jsonFlag(c)
	return c
}
