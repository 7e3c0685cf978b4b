package cmd

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"govsvc/db"
	"govsvc/db/resource"
	"govsvc/server/openapi"
)

// enumeratedValue is the value of a flag that has a list of its values.
type enumeratedValue interface{ candidates() []string }

func (v choiceValue[T]) candidates() []string {
	names := make([]string, len(v.allowed))
	for i, name := range v.allowed {
		names[i] = string(name)
	}
	return names
}

// isCompletion reports whether a shell requests completions.
func isCompletion(args []string) bool {
	return len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd)
}

// registerCompletions lets shells complete the values of flags in c and all commands
// below it.
func registerCompletions(a *app, c *cobra.Command) {
	c.Flags().VisitAll(func(f *pflag.Flag) {
		var complete cobra.CompletionFunc
		switch value, known := f.Value.(enumeratedValue); {
		case known:
			complete = completeValues(value.candidates())
		case f.Name == "scope":
			complete = func(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
				return completeValues(openapi.Scopes())(c, args, typed) // it parses the document
			}
		case f.Value.Type() == "TYPE":
			complete = completeValues(resource.Types())
		case f.Name == "org":
			complete = a.completeOrg
		default:
			return
		}
		if err := c.RegisterFlagCompletionFunc(f.Name, complete); err != nil {
			panic(err) // a flag was registered twice
		}
	})
	for _, subcommand := range c.Commands() {
		registerCompletions(a, subcommand)
	}
}

// completeValues completes a comma-separated list with values that it does not contain.
func completeValues(values []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		before := typed[:strings.LastIndex(typed, ",")+1]
		given := strings.Split(before, ",")
		var list []string
		for _, value := range values {
			if strings.HasPrefix(before+value, typed) && !slices.Contains(given, value) {
				list = append(list, before+value)
			}
		}
		return list, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeOrg completes the name of an organisation of the data file.
func (a *app) completeOrg(c *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	var list []string
	if err := a.readSettings(c); err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	store, err := db.OpenToRead(c.Context(), a.path)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	defer store.Close() //nolint:errcheck // it was read only
	orgs, err := store.Orgs.List(c.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	for _, org := range orgs {
		if strings.HasPrefix(org.Name, typed) {
			list = append(list, org.Name)
		}
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}
