package cmd

import (
	"log/slog"

	"github.com/spf13/cobra"
)

// Formats of the log.
const (
	logText = "text"
	logJSON = "json"
)

// logLevels are the values of --log-level.
var logLevels = map[string]slog.Level{
	"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
}

// logFlags are the flags about the log on stderr.
type logFlags struct{ format, level string }

func newLogFlags() logFlags { return logFlags{logText, "info"} }

// add adds them to a command that runs until it is stopped.
func (l *logFlags) add(c *cobra.Command) {
	c.Flags().Var(choiceValue[string]{&l.format, []string{logText, logJSON}, "FORMAT"}, "log-format", "format of the log on stderr: text or json")
	c.Flags().Var(choiceValue[string]{&l.level, []string{"debug", "info", "warn", "error"}, "LEVEL"}, "log-level", "lowest level that is logged: debug, info, warn or error")
}

func (a *app) logger(l logFlags) *slog.Logger {
	options := &slog.HandlerOptions{Level: logLevels[l.level]}
	if l.format == logJSON {
		return slog.New(slog.NewJSONHandler(a.stderr, options))
	}
	return slog.New(slog.NewTextHandler(a.stderr, options))
}
