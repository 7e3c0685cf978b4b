package cmd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// maxConfigBytes is the largest size of a configuration file.
const maxConfigBytes = 1 << 20

// repeatableValue is the value of a flag that may be given more than once.
type repeatableValue interface {
	pflag.Value
	each() []string // the values so far, as Set reads them
}

func (v listValue) each() []string { return *v.values }

func (v pathList) each() []string { return *v.values }

func (v *networkList) each() []string { return split(v.String()) }

func (v *waitList) each() []string { return split(v.String()) }

func split(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

// readConfig sets flags from the file that --config names, unless the command line or
// the environment sets them. It checks the whole file, including settings of other
// commands.
func (a *app) readConfig(c *cobra.Command) error {
	if a.settings.config == "" {
		return nil
	}
	entries, err := readYAML(a.settings.config)
	if err != nil {
		return usageErrorf("--config: %s", errorText(err))
	}
	flags := allFlags(c.Root())
	lines := map[string]int{}
	for i := 0; i+1 < len(entries); i += 2 {
		name, value := entries[i], entries[i+1]
		place := fmt.Sprintf("%s:%d", a.settings.config, name.Line)
		if first, twice := lines[name.Value]; twice {
			return usageErrorf("%s: %s is already set in line %d", place, name.Value, first)
		}
		lines[name.Value] = name.Line
		if err := a.setFromFile(c, flags, name.Value, value, place); err != nil {
			return usageErrorf("%s: %s", place, err)
		}
	}
	return nil
}

// readYAML reads a configuration file. It returns each name followed by its value.
func readYAML(path string) ([]*yaml.Node, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxConfigBytes+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > maxConfigBytes:
		return nil, fmt.Errorf("%s is larger than 1 MB", path)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document yaml.Node
	if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
		return nil, nil // the file has only comments
	} else if err != nil {
		return nil, fmt.Errorf("%s: %s", path, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if err := decoder.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s contains more than one YAML document", path)
	}
	top := document.Content[0]
	if top.Kind == yaml.ScalarNode && top.Tag == "!!null" {
		return nil, nil
	}
	if top.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s:%d: the file must be a mapping of flag names to values, like `addr: :8080`", path, top.Line)
	}
	return top.Content, nil
}

// setFromFile checks one entry of the file and sets the flag of the command. A flag that
// already has a value keeps it.
func (a *app) setFromFile(c *cobra.Command, flags map[string][]*pflag.Flag, name string, value *yaml.Node, place string) error {
	switch {
	case len(flags[name]) == 0:
		hint := ""
		if near := settingsLike(name, flags); len(near) > 0 {
			hint = "; did you mean " + either(near) + "?"
		}
		return fmt.Errorf("no flag is named %q%s", name, hint)
	case oneShot[name] || name == "config":
		return fmt.Errorf("%s can't be set in the file: give --%s on the command line", name, name)
	}
	own := c.Flags().Lookup(name)
	if own == nil {
		fits := func(f *pflag.Flag) bool { _, err := flagText(f, value); return err == nil }
		if slices.ContainsFunc(flags[name], fits) {
			return nil
		}
		own = flags[name][0]
	}
	text, err := flagText(own, value)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if own.Changed {
		return nil
	}
	if err := c.Flags().Set(name, text); err != nil {
		return fmt.Errorf("%s: %s", name, flagCause(err))
	}
	a.settings.sources[name], a.settings.origins[name] = sourceFile, place
	return nil
}

// flagText converts a value of the file to the text for a flag. The error names the
// type that the flag needs.
func flagText(f *pflag.Flag, value *yaml.Node) (string, error) {
	if value.Kind == yaml.AliasNode {
		value = value.Alias
	}
	_, many := f.Value.(repeatableValue)
	if many && value.Kind == yaml.SequenceNode {
		texts := make([]string, len(value.Content))
		for i, item := range value.Content {
			if item.Kind != yaml.ScalarNode || item.Tag != "!!str" {
				return "", errors.New("each item of the list must be text")
			}
			texts[i] = item.Value
		}
		if len(texts) == 0 {
			return "", errors.New("the list is empty: add a value or remove the setting")
		}
		return strings.Join(texts, ","), nil
	}
	wants, tags := "text; put the value in quotation marks", []string{"!!str"}
	switch kind := f.Value.Type(); {
	case many:
		wants = "a list of texts, or one text"
	case kind == "bool":
		wants, tags = "true or false", []string{"!!bool"}
	case kind == "N":
		wants, tags = "a whole number", []string{"!!int"}
	case kind == "DATE" || kind == "INSTANT":
		wants, tags = "a date or a time", []string{"!!str", "!!timestamp"}
	}
	if value.Kind != yaml.ScalarNode || !slices.Contains(tags, value.Tag) {
		return "", errors.New("the value must be " + wants)
	}
	if value.Value == "" {
		return "", errors.New("the value is empty: add a value or remove the setting")
	}
	return value.Value, nil
}
