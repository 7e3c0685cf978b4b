package cmd

import (
	"github.com/spf13/cobra"
)

func (a *app) openapiCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "openapi",
		Short: "Print the API's OpenAPI 3.1 document",
		Long: `Print the OpenAPI 3.1 document of the API, as it is served at /openapi.json
below the base URL: one JSON value, with or without --json.`,
		Example: `  govsvc openapi > openapi.json
  govsvc openapi | jq '.paths | keys'`,
		Args: arguments(),
		RunE: func(*cobra.Command, []string) error {
			document, err := a.document()
			if err != nil {
				return err
			}
			_, err = a.stdout.Write(append(document.JSON()[:len(document.JSON()):len(document.JSON())], '\n'))
			return err
		},
	}
	a.jsonFlag(c)
	return c
}
