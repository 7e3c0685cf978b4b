package cmd

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"govsvc/db"
	"govsvc/server/openapi"
)

// usageTemplate is cobra's template with wrapped flags. A group of commands has no
// usage line, because it does nothing by itself.
const usageTemplate = `Usage:{{if .HasAvailableSubCommands}}
  {{.CommandPath}} COMMAND [flags]{{else}}
  {{.UseLine}}{{end}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}{{if .HasAvailableSubCommands}}

Commands:{{range .Commands}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding }} {{.Short}}{{end}}{{end}}{{end}}{{if .HasAvailableLocalFlags}}

Flags:
{{.LocalFlags.FlagUsagesWrapped 100 | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableInheritedFlags}}

Global flags:
{{.InheritedFlags.FlagUsagesWrapped 100 | trimTrailingWhitespaces}}{{end}}{{if .HasAvailableSubCommands}}

"{{.CommandPath}} COMMAND --help" shows the help of a command.{{end}}
`

// scopesText is a placeholder for the scopes in a help text. The scopes come from the
// document. It is parsed only when a help text needs it, because parsing takes longer than
// most commands.
const scopesText = "{scopes}"

// longText returns the help text of a command.
func longText(c *cobra.Command) string {
	if !strings.Contains(c.Long, scopesText) {
		return c.Long
	}
	scopes := wrapText("Scopes: " + strings.Join(openapi.Scopes(), ", ") + ". read:all includes every read scope except read:audit.")
	return strings.ReplaceAll(c.Long, scopesText, scopes)
}

// completeHelp makes the help of c and all commands below it show longText.
func completeHelp(c *cobra.Command) {
	show := c.HelpFunc()
	c.SetHelpFunc(func(c *cobra.Command, args []string) {
		c.Long = longText(c)
		show(c, args)
	})
}

// usageError is an error of the command line.
type usageError struct{ message string }

func (e *usageError) Error() string { return e.message }

func usageErrorf(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

// helpHint returns the end of a message about the command line.
func helpHint(c *cobra.Command) string { return fmt.Sprintf("; see `%s --help`", c.CommandPath()) }

// suggestionHint returns the end of a message that suggests names.
func suggestionHint(c *cobra.Command, near []string) string {
	if len(near) == 0 {
		return helpHint(c)
	}
	return fmt.Sprintf("; did you mean %s? See `%s --help`", either(near), c.CommandPath())
}

// prepareCommands sets the common properties of c and all commands below it.
func prepareCommands(c *cobra.Command) {
	c.InitDefaultHelpFlag()
	c.InitDefaultVersionFlag()
	for _, flags := range []*pflag.FlagSet{c.Flags(), c.PersistentFlags()} {
		flags.VisitAll(func(f *pflag.Flag) {
			name := " [" + variable(f.Name) + "]"
			if !oneShot[f.Name] && !strings.HasSuffix(f.Usage, name) { // an inherited flag is visited twice
				f.Usage += name
			}
		})
	}
	c.DisableFlagsInUseLine = c.HasParent() && c.Parent().Name() == "completion"
	if !c.HasSubCommands() {
		return
	}
	c.SuggestionsMinimumDistance = 2
	c.Args = func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknownCommandError(c, args[0])
		}
		return nil
	}
	c.RunE = missingCommandError
	for _, below := range c.Commands() {
		prepareCommands(below)
	}
}

// missingCommandError reports that a group needs one of its commands.
func missingCommandError(c *cobra.Command, _ []string) error {
	var names []string
	for _, below := range c.Commands() {
		if below.IsAvailableCommand() && below.Name() != "help" {
			names = append(names, below.Name())
		}
	}
	return usageErrorf("`%s` needs a command: %s%s", c.CommandPath(), either(names), helpHint(c))
}

func unknownCommandError(c *cobra.Command, name string) error {
	hint := suggestionHint(c, c.SuggestionsFor(name))
	if c.HasParent() {
		return usageErrorf("`%s` has no command %q%s", c.CommandPath(), name, hint)
	}
	return usageErrorf("unknown command %q%s", name, hint)
}

func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]",
		Short:   "Show the help of a command",
		Long:    "Show the help of a command, like its flag --help.",
		Example: "  govsvc help keys mint",
		RunE: func(_ *cobra.Command, args []string) error {
			c, rest, err := root.Find(args)
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return unknownCommandError(c, rest[0])
			}
			return c.Help()
		},
	}
}

// arguments checks the number of arguments, with their names in the usage line. A
// last name that ends in "..." means one or more arguments.
func arguments(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return usageErrorf("%s is missing%s", strings.TrimSuffix(names[len(args)], "..."), helpHint(c))
		}
		open := len(names) > 0 && strings.HasSuffix(names[len(names)-1], "...")
		if len(args) > len(names) && !open {
			return usageErrorf("unexpected argument %q%s", args[len(names)], helpHint(c))
		}
		for i, name := range names {
			if args[i] == "" { // an unset variable of a script
				return usageErrorf("%s is empty%s", strings.TrimSuffix(name, "..."), helpHint(c))
			}
		}
		return nil
	}
}

// flagError describes an error of pflag in one line.
func flagError(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	var bare *pflag.ValueRequiredError
	switch {
	case c.HasSubCommands() && c.Flags().NArg() > 0:
		return unknownCommandError(c, c.Flags().Arg(0)) // its flags are unknown
	case errors.As(err, &unknown):
		return unknownFlagError(c, unknown)
	case errors.As(err, &invalid):
		return usageErrorf("--%s: %s%s", invalid.GetFlag().Name, flagCause(invalid), helpHint(c))
	case errors.As(err, &bare):
		return usageErrorf("--%s needs a value%s", bare.GetFlag().Name, helpHint(c))
	}
	return usageErrorf("%s%s", err, helpHint(c))
}

func unknownFlagError(c *cobra.Command, e *pflag.NotExistError) error {
	name, dashes := e.GetSpecifiedName(), "--"
	if letters := e.GetSpecifiedShortnames(); letters != "" {
		name, _, _ = strings.Cut(letters, "=")
		dashes = "-"
	}
	var flags []string
	c.Flags().VisitAll(func(f *pflag.Flag) { flags = append(flags, f.Name) })
	near := suggestions(name, flags)
	for i := range near {
		near[i] = "--" + near[i]
	}
	return usageErrorf("unknown flag %s%s%s", dashes, name, suggestionHint(c, near))
}

// suggestions returns the names that may be meant by a mistyped one. Cobra
// compares names of commands only, so each name becomes a command.
func suggestions(typed string, names []string) []string {
	if len(typed) < 2 {
		return nil
	}
	edits := 1
	if len(typed) > 4 {
		edits = 2
	}
	c := &cobra.Command{SuggestionsMinimumDistance: edits}
	for _, name := range names {
		c.AddCommand(&cobra.Command{Use: name, Run: func(*cobra.Command, []string) {}})
	}
	return c.SuggestionsFor(typed)
}

// either lists names as alternatives.
func either(names []string) string {
	last := len(names) - 1
	if last == 0 {
		return names[0]
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// checkRequiredFlags refuses a command that lacks a required flag. Cobra checks
// before the environment and the configuration file are read.
func checkRequiredFlags(c *cobra.Command) error {
	var missing []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if slices.Contains(f.Annotations[cobra.BashCompOneRequiredFlag], "true") && !f.Changed {
			missing = append(missing, "--"+f.Name)
		}
	})
	switch len(missing) {
	case 0:
		return nil
	case 1:
		return usageErrorf("%s is missing%s", missing[0], helpHint(c))
	}
	return usageErrorf("%s are missing%s", strings.Join(missing, " and "), helpHint(c))
}

// markRequired marks flags as required.
func markRequired(c *cobra.Command, names ...string) {
	for _, name := range names {
		if err := c.MarkFlagRequired(name); err != nil {
			panic(err)
		}
	}
}

// invalidAsUsageError turns the store's refusal of an argument into an error of the
// command line.
func invalidAsUsageError(c *cobra.Command, err error) error {
	if db.Is(err, db.Invalid) {
		return usageErrorf("%s%s", err, helpHint(c))
	}
	return err
}
