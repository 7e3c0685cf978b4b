// Package deploy tests the Dockerfile of doc/deploy with Docker's parser, so that
// the test needs no Docker. It is a separate module, so that govsvc does not depend
// on the parser.
package deploy

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

// TestDockerfile checks that the file is well-formed, that the image starts from
// scratch and has a user other than root, and that the Go version is that of go.mod.
func TestDockerfile(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "doc", "deploy", "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	tree, err := parser.Parse(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if len(tree.Warnings) > 0 {
		t.Errorf("warnings: %+v", tree.Warnings)
	}
	stages, _, err := instructions.Parse(tree.AST, nil)
	if err != nil {
		t.Fatal(err)
	}
	last := stages[len(stages)-1]
	if len(stages) != 2 || last.BaseName != "scratch" {
		t.Errorf("got %d stages, the last from %s, want 2 and scratch", len(stages), last.BaseName)
	}
	got := map[string]string{}
	for _, command := range last.Commands {
		switch c := command.(type) {
		case *instructions.UserCommand:
			got["user"] = c.User
		case *instructions.VolumeCommand:
			got["volumes"] = strings.Join(c.Volumes, " ")
		case *instructions.EntrypointCommand:
			got["entrypoint"] = strings.Join(c.CmdLine, " ")
			if c.PrependShell {
				t.Error("the entrypoint needs a shell, but the image has none")
			}
		case *instructions.CmdCommand:
			got["cmd"] = strings.Join(c.CmdLine, " ")
		case *instructions.RunCommand:
			t.Error("the image has no program that RUN could start")
		}
	}
	for name, want := range map[string]string{"user": "65534:65534", "volumes": "/data", "entrypoint": "/govsvc", "cmd": "serve"} {
		if got[name] != want {
			t.Errorf("got %s %q, want %q", name, got[name], want)
		}
	}
	module, err := os.ReadFile(filepath.Join("..", "..", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(module)
	if want := "golang:" + string(version[1]); stages[0].BaseName != want {
		t.Errorf("got a build with %s, want %s", stages[0].BaseName, want)
	}
	if !slices.ContainsFunc(stages[0].Commands, func(c instructions.Command) bool { return c.Name() == "RUN" }) {
		t.Error("the first stage has no RUN")
	}
}
