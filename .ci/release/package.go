package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // registers the format
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm" // registers the format
)

// packaged lists the processors for which Linux packages and images are built.
var packaged = []string{"amd64", "arm64"}

// packages builds a .deb and an .rpm package for a processor.
func (r *release) packages(processor, program string, shared map[string][]byte) error {
	contents, err := r.contents(processor, program, shared)
	if err != nil {
		return err
	}
	for _, format := range []string{"deb", "rpm"} {
		packager, err := nfpm.Get(format)
		if err != nil {
			return err
		}
		info := nfpm.WithDefaults(&nfpm.Info{
			Name: "govsvc", Arch: processor, Platform: "linux", Version: r.packageVersion(), Release: "1", MTime: r.made,
			Section: "admin", Priority: "optional", Maintainer: "The govsvc authors <govsvc@localhost>", Vendor: "govsvc",
			License: "Apache-2.0", Description: "AI-governance data service\nOne program over one SQLite file: an HTTP API, MCP, webhooks and a dashboard.",
			Overridables: nfpm.Overridables{
				Contents: contents,
				Scripts: nfpm.Scripts{
					PostInstall: ".ci/release/scripts/postinstall.sh", PreRemove: ".ci/release/scripts/preremove.sh", PostRemove: ".ci/release/scripts/postremove.sh",
				},
				RPM: nfpm.RPM{BuildHost: "localhost", Group: "System Environment/Daemons", Summary: "AI-governance data service"},
			},
		})
		var packed bytes.Buffer
		if err := packager.Package(info, &packed); err != nil {
			return fmt.Errorf("%s: %w", format, err)
		}
		if err := r.write(packager.ConventionalFileName(info), packed.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

var semantic = regexp.MustCompile(`^v?\d+\.\d+\.\d+`)

// packageVersion returns the version in the form that package managers compare. A build
// without a version number, only with a commit, counts as older than every release.
func (r *release) packageVersion() string {
	if semantic.MatchString(r.version) {
		return r.version
	}
	return "0.0.0-0." + strings.NewReplacer("+", ".").Replace(r.version)
}

// packagedFile is a file of a package. kind is one of the Type constants of nfpm's
// package files.
type packagedFile struct {
	text []byte
	kind string
	mode fs.FileMode
}

// contents lists the files of a package and writes them to a folder, from which
// nfpm reads them.
func (r *release) contents(processor, program string, shared map[string][]byte) (files.Contents, error) {
	text, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	const docs = "/usr/share/doc/govsvc/"
	installed := map[string]packagedFile{}
	add := func(to string, text []byte, kind string, mode fs.FileMode) {
		installed[to] = packagedFile{text, kind, mode}
	}
	unit := bytes.ReplaceAll(shared["doc/deploy/govsvc.service"], []byte("/usr/local/bin/"), []byte("/usr/bin/"))
	add("/usr/bin/govsvc", text, files.TypeFile, 0o755)
	add("/usr/lib/systemd/system/govsvc.service", unit, files.TypeFile, 0o644)
	add("/usr/lib/sysusers.d/govsvc.conf", shared["doc/deploy/govsvc.sysusers"], files.TypeFile, 0o644)
	add("/etc/govsvc/govsvc.env", shared["doc/deploy/govsvc.env"], files.TypeConfigNoReplace, 0o640)
	add(docs+"copyright", shared["LICENSES.txt"], files.TypeFile, 0o644)
	add("/usr/share/bash-completion/completions/govsvc", shared["completions/govsvc.bash"], files.TypeFile, 0o644)
	add("/usr/share/zsh/vendor-completions/_govsvc", shared["completions/_govsvc"], files.TypeFile, 0o644)
	add("/usr/share/fish/vendor_completions.d/govsvc.fish", shared["completions/govsvc.fish"], files.TypeFile, 0o644)
	for name, text := range shared {
		switch folder := path.Dir(name); {
		case folder == "man/man1":
			packed, err := compressed(text)
			if err != nil {
				return nil, err
			}
			add("/usr/share/man/man1/"+path.Base(name)+".gz", packed, files.TypeFile, 0o644)
		case strings.HasSuffix(name, ".md") || folder == "doc" || folder == "doc/deploy":
			add(docs+name, text, files.TypeFile, 0o644)
		}
	}
	contents := files.Contents{{Destination: "/etc/govsvc", Type: files.TypeDir, FileInfo: &files.ContentFileInfo{Mode: 0o750, MTime: r.made}}}
	staged := filepath.Join(r.scratch, "package-"+processor)
	for _, to := range slices.Sorted(maps.Keys(installed)) {
		file := installed[to]
		from := filepath.Join(staged, to)
		if err := os.MkdirAll(filepath.Dir(from), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(from, file.text, 0o600); err != nil {
			return nil, err
		}
		contents = append(contents, &files.Content{
			Source: from, Destination: to, Type: file.kind,
			FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: file.mode, MTime: r.made},
		})
	}
	return contents, nil
}

// compressed compresses a manual page with gzip. The header has no time and no name.
func compressed(text []byte) ([]byte, error) {
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	err = w.Close()
	return packed.Bytes(), err
}
