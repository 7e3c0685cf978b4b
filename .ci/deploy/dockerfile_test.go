// Package deploy checks the files of doc/deploy for which a machine need not
// have a program: the Dockerfile, read by the parser of Docker itself. It is a
// module of its own, so that the parser is no part of govsvc.
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

// TestDockerfile: it is well-formed, ends in an image of nothing else, under a
// user that is not root, and builds with no older Go than go.mod names.
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
		t.Errorf("%d stages, the last from %s", len(stages), last.BaseName)
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
				t.Error("the entrypoint needs a shell, which there is not")
			}
		case *instructions.CmdCommand:
			got["cmd"] = strings.Join(c.CmdLine, " ")
		case *instructions.RunCommand:
			t.Error("the image has nothing that could be run while it is built")
		}
	}
	for name, want := range map[string]string{"user": "65534:65534", "volumes": "/data", "entrypoint": "/govsvc", "cmd": "serve"} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	module, err := os.ReadFile(filepath.Join("..", "..", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(module)
	if want := "golang:" + string(version[1]); stages[0].BaseName != want {
		t.Errorf("it builds with %s, want %s", stages[0].BaseName, want)
	}
	if !slices.ContainsFunc(stages[0].Commands, func(c instructions.Command) bool { return c.Name() == "RUN" }) {
		t.Error("nothing is built")
	}
}
