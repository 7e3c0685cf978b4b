package cmd

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// newManCommand makes the command that writes the manual pages. Releases and packages
// use it too.
func newManCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write the manual pages",
		Long: `Write a manual page with the text of --help for each command into a folder,
which is created if it does not exist. One version of the program always writes
the same pages.`,
		Example: "  govsvc man /usr/local/share/man/man1",
		Args:    arguments("DIR"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil { //nolint:gosec // all users may read the manual
				return err
			}
			return writeManuals(c.Root(), args[0])
		},
	}
}

// writeManuals writes the page of a command and of those below it.
func writeManuals(c *cobra.Command, folder string) error {
	if !c.IsAvailableCommand() && c.HasParent() {
		return nil
	}
	path := filepath.Join(folder, manualName(c)+".1")
	if err := os.WriteFile(path, []byte(manual(c)), 0o644); err != nil { //nolint:gosec // as above
		return err
	}
	for _, below := range c.Commands() {
		if err := writeManuals(below, folder); err != nil {
			return err
		}
	}
	return nil
}

func manualName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// manual returns a command's page, in the macros of man(7).
func manual(c *cobra.Command) string {
	p := &manualPage{}
	p.line(".TH %s 1 \"\" %s \"govsvc\"", quoteRoff(strings.ToUpper(manualName(c))), quoteRoff("govsvc "+programVersion().Version))
	p.line(".SH NAME")
	p.line("%s \\- %s", escapeRoff(manualName(c)), escapeRoff(c.Short))
	p.line(".SH SYNOPSIS")
	p.synopsis(c)
	p.line(".SH DESCRIPTION")
	p.text(longText(c))
	if below := availableCommands(c); len(below) > 0 {
		p.line(".SH COMMANDS")
		for _, b := range below {
			p.line(".TP\n.BR %s (1)\n%s", escapeRoff(manualName(b)), escapeRoff(b.Short))
		}
	}
	p.flags("OPTIONS", c.NonInheritedFlags())
	p.flags("GLOBAL OPTIONS", c.InheritedFlags())
	if c.HasExample() {
		p.line(".SH EXAMPLES\n.EX")
		for example := range strings.Lines(c.Example) {
			p.line("%s", escapeRoff(strings.TrimRight(strings.TrimPrefix(example, "  "), "\n")))
		}
		p.line(".EE")
	}
	p.line(".SH EXIT STATUS\n0 for success, 1 for a failure, 2 for a wrong command line.")
	if c.HasParent() {
		p.line(".SH SEE ALSO\n.BR %s (1)", escapeRoff(manualName(c.Parent())))
	}
	return p.String()
}

func availableCommands(c *cobra.Command) []*cobra.Command {
	var list []*cobra.Command
	for _, below := range c.Commands() {
		if below.IsAvailableCommand() {
			list = append(list, below)
		}
	}
	return list
}

// manualPage is a manual page that is being written.
type manualPage struct{ strings.Builder }

func (p *manualPage) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

func (p *manualPage) synopsis(c *cobra.Command) {
	use, rest, _ := strings.Cut(c.Use, " ")
	if c.HasParent() {
		use = c.Parent().CommandPath() + " " + use
	}
	if c.HasSubCommands() {
		rest = "COMMAND"
	}
	p.line(".B %s\n%s", escapeRoff(use), escapeRoff(strings.TrimSpace(rest+" [flags]")))
}

// text writes paragraphs. Indented lines are written unchanged.
func (p *manualPage) text(text string) {
	verbatim, blank := false, false
	for line := range strings.Lines(strings.TrimSpace(text)) {
		line = strings.ReplaceAll(strings.TrimRight(line, "\n"), "\t", "  ")
		if line == "" {
			blank = true
			continue
		}
		indented := strings.HasPrefix(line, " ")
		if verbatim && !indented {
			p.line(".EE")
		}
		switch {
		case blank && verbatim && indented:
			p.line("")
		case blank:
			p.line(".PP")
		}
		if indented && !verbatim {
			p.line(".EX")
		}
		p.line("%s", escapeRoff(line))
		verbatim, blank = indented, false
	}
	if verbatim {
		p.line(".EE")
	}
}

// flags writes the options of a command.
func (p *manualPage) flags(title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	p.line(".SH %s", title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		name := `\-\-` + escapeRoff(f.Name)
		if f.Shorthand != "" {
			name = `\-` + f.Shorthand + ", " + name
		}
		if value != "" {
			name += `\fR \fI` + escapeRoff(value)
		}
		p.line(".TP\n\\fB%s\\fR", name)
		if f.DefValue != "" && f.DefValue != "false" {
			usage += " (default " + f.DefValue + ")"
		}
		p.line("%s", escapeRoff(usage))
	})
}

// escapeRoff escapes a line of text.
func escapeRoff(line string) string {
	line = strings.NewReplacer(`\`, `\e`, "-", `\-`, "`", "\\(ga", "^", `\(ha`, "~", `\(ti`).Replace(line)
	if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
		return `\&` + line
	}
	return line
}

// quoteRoff returns an argument of a macro.
func quoteRoff(text string) string {
	return `"` + strings.ReplaceAll(escapeRoff(text), `"`, `\(dq`) + `"`
}
