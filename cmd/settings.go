package cmd

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The sources of a flag's value, the strongest first.
const (
	sourceFlag        = "flag"
	sourceEnvironment = "environment"
	sourceFile        = "file"
	sourceDefault     = "default"
)

// oneShot names the flags that belong to one run. They permit a change that can't be
// undone, limit or replace what the command does, or explain one change. They are
// read from the command line only.
var oneShot = map[string]bool{
	"force": true, "all": true, "all-orgs": true, // permit
	"dry-run": true, "once": true, // limit
	"help": true, "version": true, "licenses": true, "rehearse": true, "template": true, "schema": true, "3.0": true, "print-head": true, "print-config": true, // replace
	"reason": true, // explain
}

// settings are the sources of the values of flags.
type settings struct {
	config  string            // path of the configuration file
	sources map[string]string // of the flags that were set, by name
	origins map[string]string // the variable or the line that set them, by name
}

// source returns where a flag's value came from.
func (s *settings) source(flag string) string {
	if source, ok := s.sources[flag]; ok {
		return source
	}
	return sourceDefault
}

// variable returns the name of the environment variable that sets a flag.
func variable(flag string) string {
	return "GOVSVC_" + strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(flag))
}

// readSettings sets the flags that the command line does not set: from the
// environment, and then from the configuration file.
func (a *app) readSettings(c *cobra.Command) error {
	a.settings.sources, a.settings.origins = map[string]string{}, map[string]string{}
	c.Flags().Visit(func(f *pflag.Flag) { a.settings.sources[f.Name] = sourceFlag })
	if err := a.readEnvironment(c); err != nil {
		return err
	}
	if err := a.readConfig(c); err != nil {
		return err
	}
	a.warnOfVariables(c.Root())
	return nil
}

// readEnvironment sets the flags that the command line does not set from their
// variables. An empty variable counts as not set.
func (a *app) readEnvironment(c *cobra.Command) error {
	var fault error
	c.Flags().VisitAll(func(f *pflag.Flag) {
		value, _ := a.env(variable(f.Name))
		if fault != nil || f.Changed || oneShot[f.Name] || value == "" {
			return
		}
		if err := c.Flags().Set(f.Name, value); err != nil {
			fault = usageErrorf("%s: %s%s", variable(f.Name), flagCause(err), helpHint(c))
			return
		}
		a.settings.sources[f.Name], a.settings.origins[f.Name] = sourceEnvironment, variable(f.Name)
	})
	return fault
}

// warnOfVariables reports variables that look like settings but are not.
func (a *app) warnOfVariables(root *cobra.Command) {
	flags := allFlags(root)
	for _, name := range a.variables {
		if value, _ := a.env(name); value == "" || !strings.HasPrefix(name, "GOVSVC_") {
			continue
		}
		flag := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, "GOVSVC_"), "_", "-"))
		switch known := len(flags[flag]) > 0 && name == variable(flag); {
		case known && oneShot[flag]:
			a.note("govsvc: warning: %s has no effect: give --%s on the command line", name, flag)
		case !known:
			near, hint := settingsLike(flag, flags), ""
			for i, setting := range near {
				near[i] = fmt.Sprintf("%s (--%s)", variable(setting), setting)
			}
			if len(near) > 0 {
				hint = "; did you mean " + either(near) + "?"
			}
			a.note("govsvc: warning: no flag is set by %s%s", oneLine(name), hint)
		}
	}
}

// settingsLike returns the flags that may be meant by the name of a setting.
func settingsLike(name string, flags map[string][]*pflag.Flag) []string {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(flags)), func(flag string) bool { return oneShot[flag] })
	return suggestions(name, names)
}

// allFlags finds the flags of a command and of those below it, by name.
func allFlags(c *cobra.Command) map[string][]*pflag.Flag {
	flags := map[string][]*pflag.Flag{}
	for _, set := range []*pflag.FlagSet{c.LocalFlags(), c.PersistentFlags()} {
		set.VisitAll(func(f *pflag.Flag) { flags[f.Name] = append(flags[f.Name], f) })
	}
	for _, below := range c.Commands() {
		for name, list := range allFlags(below) {
			flags[name] = append(flags[name], list...)
		}
	}
	return flags
}

// flagCause describes what is wrong with a flag's value. It replaces the texts of
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
