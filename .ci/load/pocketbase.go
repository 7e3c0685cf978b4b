//go:build linux

package main

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// peerModule is the version of PocketBase that the service is compared with. It is built
// in a temporary module, so that it is not a dependency of the service.
const peerModule = "github.com/pocketbase/pocketbase@v0.39.11"

// peerProgram is not a Go file of this module, which has no PocketBase.
//
//go:embed pocketbase.go.txt
var peerProgram []byte

// buildPeer builds PocketBase with a collection of risks.
func (b *bench) buildPeer(ctx context.Context) error {
	folder := filepath.Join(b.folder, "peer")
	if err := os.Mkdir(folder, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "main.go"), peerProgram, 0o600); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"mod", "init", "peer"},
		{"get", peerModule},
		{"mod", "tidy"},
		{"build", "-trimpath", "-ldflags=-s -w", "-o", "pocketbase", "."},
	} {
		command := exec.CommandContext(ctx, "go", args...)
		command.Dir, command.Env = folder, append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
		if out, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("go %s: %w: %s", args[0], err, out)
		}
	}
	return nil
}

// peer starts PocketBase with a new register.
func (b *bench) peer(ctx context.Context) (*process, error) {
	folder, err := os.MkdirTemp(b.folder, "peer-")
	if err != nil {
		return nil, err
	}
	return b.launch(ctx, filepath.Join(b.folder, "peer", "pocketbase"), folder, strconv.Itoa(b.sizes[1]))
}
