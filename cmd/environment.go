package cmd

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// variable is the name of the environment variable that sets a flag.
func variable(flag string) string {
	return "GOVSVC_" + strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(flag))
}

// fromEnvironment tells the flags that can be set by the environment: all but
// those that ask for something else than the command.
func fromEnvironment(f *pflag.Flag) bool { return f.Name != "help" && f.Name != "version" }

// readEnvironment sets the flags that were not given from their variables. An
// empty variable counts as not set.
func readEnvironment(c *cobra.Command, env func(string) (string, bool)) error {
	var fault error
	c.Flags().VisitAll(func(f *pflag.Flag) {
		value, _ := env(variable(f.Name))
		if fault != nil || f.Changed || !fromEnvironment(f) || value == "" {
			return
		}
		if err := c.Flags().Set(f.Name, value); err != nil {
			fault = misusef("%s: %s%s", variable(f.Name), flagCause(err), pointer(c))
		}
	})
	return fault
}

// flagCause says what is wrong with a flag's value, without the words of
// package strconv.
func flagCause(err error) string {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err.Error()
	}
	cause := errors.Unwrap(invalid)
	var number *strconv.NumError
	if errors.As(cause, &number) || invalid.GetFlag().Value.Type() == "bool" {
		return fmt.Sprintf("%q is not true or false", invalid.GetValue())
	}
	return cause.Error()
}
