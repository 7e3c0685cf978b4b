package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"io/fs"
	"time"
)

// entry is a file of an archive.
type entry struct {
	path string
	text []byte
	mode fs.FileMode
}

// gzipped packs files into a tar.gz, in a folder of that name, with the given time
// and without owners.
func gzipped(folder string, files []entry, made time.Time) ([]byte, error) {
	var packed bytes.Buffer
	squeezed, err := gzip.NewWriterLevel(&packed, gzip.BestCompression) // the head has no time and no name
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(squeezed)
	for _, f := range files {
		head := &tar.Header{
			Typeflag: tar.TypeReg, Name: folder + "/" + f.path, Size: int64(len(f.text)), Mode: int64(f.mode), ModTime: made, Format: tar.FormatUSTAR,
		}
		if err := w.WriteHeader(head); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.text); err != nil {
			return nil, err
		}
	}
	err = errors.Join(w.Close(), squeezed.Close())
	return packed.Bytes(), err
}

// zipped packs files into a zip, which Windows can open without further programs.
func zipped(folder string, files []entry, made time.Time) ([]byte, error) {
	var packed bytes.Buffer
	w := zip.NewWriter(&packed)
	for _, f := range files {
		head := &zip.FileHeader{Name: folder + "/" + f.path, Method: zip.Deflate, Modified: made}
		head.SetMode(f.mode)
		to, err := w.CreateHeader(head)
		if err != nil {
			return nil, err
		}
		if _, err := to.Write(f.text); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return packed.Bytes(), err
}

// component is a component of CycloneDX.
type component struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	Version string `json:"version"`
	URL     string `json:"purl"`
}

// bill returns the modules of a program as CycloneDX 1.5.
func bill(program, version string) ([]byte, error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return nil, err
	}
	part := func(kind, name, version string) component {
		return component{kind, name, version, "pkg:golang/" + name + "@" + version}
	}
	parts := []component{part("library", "stdlib", info.GoVersion)}
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		parts = append(parts, part("library", module.Path, module.Version))
	}
	text, err := json.MarshalIndent(map[string]any{
		"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
		"metadata":   map[string]any{"component": part("application", info.Main.Path, version)},
		"components": parts,
	}, "", " ")
	return append(text, '\n'), err
}
