package cmd

import (
	"github.com/spf13/cobra"

	"govsvc/server/openapi"
)

func newOpenAPICommand(a *app) *cobra.Command {
	var service openapi.Service
	var older bool
	c := &cobra.Command{
		Use:   "openapi",
		Short: "Print the API's OpenAPI document",
		Long: `Print the OpenAPI 3.1 document of the API as one JSON value, with or without
--json. The service serves it at /openapi.json below the base URL.

The document has the address of the service. A running service inserts its own
address. Here --base-url sets it, and the default is that of "govsvc serve".

--3.0 prints the same API as an OpenAPI 3.0.3 document, for gateways and code
generators that do not read 3.1. OpenAPI 3.0 has no webhooks, so x-webhooks has
them.`,
		Example: `  govsvc openapi > openapi.json
  govsvc openapi --base-url https://gov.example.com > openapi.json
  govsvc openapi --3.0 > openapi-3.0.json
  govsvc openapi | jq '.paths | keys'`,
		Args: arguments(),
		RunE: func(*cobra.Command, []string) error {
			document, err := loadDocument()
			if err != nil {
				return err
			}
			text := document.Published(service)
			if older {
				if text, err = document.Published30(service); err != nil {
					return err
				}
			}
			_, err = a.stdout.Write(append(text, '\n'))
			return err
		},
	}
	c.Flags().Var(textValue{&service.BaseURL, "URL", parseOrigin}, "base-url", "the service's address, without a path; default: http://127.0.0.1:8080")
	c.Flags().Var(textValue{&service.Contact, "EMAIL|URL", parseContact}, "contact", "e-mail address or URL that the document names as the contact; default: none")
	c.Flags().BoolVar(&older, "3.0", false, "print an OpenAPI 3.0.3 document")
	a.jsonFlag(c)
	return c
}
