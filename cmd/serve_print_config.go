package cmd

import (
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// printedSetting is a setting as --print-config --json shows it.
type printedSetting struct {
	Value  any    `json:"value"`  // null: it is not set and has no default
	Source string `json:"source"` // flag, environment, file or default
	From   string `json:"from,omitempty"`
}

// printConfig prints the settings of a command and their sources. The YAML is a
// configuration file in which defaults are comments.
func printConfig(a *app, c *cobra.Command) error {
	all := map[string]printedSetting{}
	var text strings.Builder
	var fault error
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if oneShot[f.Name] || f.Name == "config" || f.Name == "json" {
			return
		}
		s := printedSetting{settingValue(f), a.settings.source(f.Name), a.settings.origins[f.Name]}
		all[f.Name] = s
		line, err := settingLine(f.Name, s)
		if err != nil && fault == nil {
			fault = err
		}
		text.WriteString(line)
	})
	if fault != nil {
		return fault
	}
	return a.print(all, func(w io.Writer) error {
		_, err := io.WriteString(w, text.String())
		return err
	})
}

// settingValue returns a flag's value with its type in YAML and JSON, or nil if it has
// none.
func settingValue(f *pflag.Flag) any {
	text := f.Value.String()
	if many, ok := f.Value.(repeatableValue); ok {
		if values := many.each(); len(values) > 0 {
			return values
		}
		return nil
	}
	switch f.Value.Type() {
	case "URL":
		if u, err := url.Parse(text); err == nil && u.User != nil {
			return u.Redacted() // without the password
		}
	case "bool":
		return text == "true"
	case "N":
		if n, err := strconv.Atoi(text); err == nil {
			return n
		}
	}
	if text == "" {
		return nil
	}
	return text
}

// settingLine returns a line of the YAML.
func settingLine(name string, s printedSetting) (string, error) {
	if s.Value == nil {
		return fmt.Sprintf("# %s: is not set\n", name), nil
	}
	var value yaml.Node
	if err := value.Encode(s.Value); err != nil {
		return "", err
	}
	value.Style |= yaml.FlowStyle
	encoded, err := yaml.Marshal(&value)
	if err != nil {
		return "", err
	}
	source := s.Source
	if s.From != "" {
		source += ", " + oneLine(s.From)
	}
	comment := ""
	if s.Source == sourceDefault {
		comment = "# "
	}
	return fmt.Sprintf("%s%s: %s  # %s\n", comment, name, strings.TrimSpace(string(encoded)), source), nil
}
