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

// tarGz returns files as a tar.gz archive. In the archive they are in the folder and
// have the given time and no owner.
func tarGz(folder string, files []entry, modified time.Time) ([]byte, error) {
	var packed bytes.Buffer
	compressor, err := gzip.NewWriterLevel(&packed, gzip.BestCompression) // the header has no time and no name
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(compressor)
	for _, f := range files {
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: folder + "/" + f.path, Size: int64(len(f.text)), Mode: int64(f.mode), ModTime: modified, Format: tar.FormatUSTAR,
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.text); err != nil {
			return nil, err
		}
	}
	err = errors.Join(w.Close(), compressor.Close())
	return packed.Bytes(), err
}

// zipArchive returns files as a zip archive, which Windows can open without further
// programs.
func zipArchive(folder string, files []entry, modified time.Time) ([]byte, error) {
	var packed bytes.Buffer
	w := zip.NewWriter(&packed)
	for _, f := range files {
		header := &zip.FileHeader{Name: folder + "/" + f.path, Method: zip.Deflate, Modified: modified}
		header.SetMode(f.mode)
		file, err := w.CreateHeader(header)
		if err != nil {
			return nil, err
		}
		if _, err := file.Write(f.text); err != nil {
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

// billOfMaterials returns a list of the modules of a program in the format CycloneDX 1.5.
func billOfMaterials(program, version string) ([]byte, error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return nil, err
	}
	newComponent := func(kind, name, version string) component {
		return component{kind, name, version, "pkg:golang/" + name + "@" + version}
	}
	components := []component{newComponent("library", "stdlib", info.GoVersion)}
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		components = append(components, newComponent("library", module.Path, module.Version))
	}
	text, err := json.MarshalIndent(map[string]any{
		"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
		"metadata":   map[string]any{"component": newComponent("application", info.Main.Path, version)},
		"components": components,
	}, "", " ")
	return append(text, '\n'), err
}
