package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// unprivileged is the user and group of the process in the image.
const unprivileged = 65534

// image builds a container image for all packaged processors as an OCI archive.
// It needs no daemon; doc/deploy/Dockerfile describes the same image.
func (r *release) image(shared map[string][]byte) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, processor := range packaged {
		one, err := r.imageOf(processor, shared)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add:        one,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: processor}},
		})
	}
	// An archive names one image: the index of all processors.
	named := mutate.AppendManifests(empty.Index, mutate.IndexAddendum{
		Add:        index,
		Descriptor: v1.Descriptor{Annotations: map[string]string{"org.opencontainers.image.ref.name": r.version}},
	})
	folder := filepath.Join(r.scratch, "image")
	if _, err := layout.Write(folder, named); err != nil {
		return err
	}
	archive, err := r.folderTar(folder)
	if err != nil {
		return err
	}
	return r.write("govsvc_"+r.version+"_oci.tar", archive)
}

// imageOf builds the image of one processor: the program, the certificates of the
// public authorities, and empty folders for data and temporary files.
func (r *release) imageOf(processor string, shared map[string][]byte) (v1.Image, error) {
	program, err := os.ReadFile(r.programs["linux/"+processor])
	if err != nil {
		return nil, err
	}
	layer, err := r.layer([]file{
		{path: "data/", mode: 0o700, owner: unprivileged},
		{path: "etc/", mode: 0o755},
		{path: "etc/ssl/", mode: 0o755},
		{path: "etc/ssl/certs/", mode: 0o755},
		{path: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, text: authorities()},
		{path: "govsvc", mode: 0o755, text: program},
		{path: "LICENSES.txt", mode: 0o644, text: shared["LICENSES.txt"]},
		{path: "tmp/", mode: 0o777, sticky: true},
	})
	if err != nil {
		return nil, err
	}
	one := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	if one, err = mutate.Append(one, mutate.Addendum{
		Layer: layer, History: v1.History{Created: v1.Time{Time: r.made}, CreatedBy: "go run ./.ci/release"},
	}); err != nil {
		return nil, err
	}
	return mutate.ConfigFile(one, r.imageConfig(one, processor))
}

func (r *release) imageConfig(one v1.Image, processor string) *v1.ConfigFile {
	config, err := one.ConfigFile()
	if err != nil {
		panic(err) // the configuration is in memory
	}
	config = config.DeepCopy()
	config.Created = v1.Time{Time: r.made}
	config.OS, config.Architecture = "linux", processor
	config.Config = v1.Config{
		User:         "65534:65534",
		Env:          []string{"GOVSVC_DB=/data/govsvc.db", "GOVSVC_ADDR=:8080"},
		Entrypoint:   []string{"/govsvc"},
		Cmd:          []string{"serve"},
		ExposedPorts: map[string]struct{}{"8080/tcp": {}},
		Volumes:      map[string]struct{}{"/data": {}},
		StopSignal:   "SIGTERM",
		Labels: map[string]string{
			"org.opencontainers.image.title":    "govsvc",
			"org.opencontainers.image.version":  r.version,
			"org.opencontainers.image.revision": r.commit,
			"org.opencontainers.image.licenses": "Apache-2.0",
		},
	}
	return config
}

// file is a file of an image, or a folder if the path ends in /.
type file struct {
	path   string
	mode   fs.FileMode
	owner  int
	sticky bool
	text   []byte
}

func (r *release) layer(all []file) (v1.Layer, error) {
	var packed bytes.Buffer
	w := tar.NewWriter(&packed)
	for _, f := range all {
		head := &tar.Header{
			Typeflag: tar.TypeReg, Name: f.path, Size: int64(len(f.text)), Mode: int64(f.mode), Uid: f.owner, Gid: f.owner, ModTime: r.made, Format: tar.FormatUSTAR,
		}
		if f.path[len(f.path)-1] == '/' {
			head.Typeflag = tar.TypeDir
		}
		if f.sticky {
			head.Mode |= 0o1000
		}
		if err := w.WriteHeader(head); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.text); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed.Bytes())), nil }
	return tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
}

// authorities returns the root certificates that Mozilla trusts without conditions,
// as PEM. The version of their module pins them.
func authorities() []byte {
	var all bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&all, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a write to a buffer does not fail
		}
	}
	return all.Bytes()
}

// folderTar packs a folder into a tar, in the order of the names.
func (r *release) folderTar(folder string) ([]byte, error) {
	var packed bytes.Buffer
	w := tar.NewWriter(&packed)
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == folder {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		head := &tar.Header{Name: filepath.ToSlash(name), ModTime: r.made, Format: tar.FormatUSTAR}
		if entry.IsDir() {
			head.Typeflag, head.Mode, head.Name = tar.TypeDir, 0o755, head.Name+"/"
			return w.WriteHeader(head)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		head.Typeflag, head.Mode, head.Size = tar.TypeReg, 0o644, int64(len(text))
		if err := w.WriteHeader(head); err != nil {
			return err
		}
		_, err = w.Write(text)
		return err
	})
	if err == nil {
		err = w.Close()
	}
	return packed.Bytes(), err
}
