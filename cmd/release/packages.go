package main

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// nfpm writes Debian and RPM packages. It runs at this version and with the versions of its own go.mod, so that the
// module of varve does not depend on it.
const nfpm = "github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.43.0"

const (
	summary     = "Combines NetCDF, HDF5, GRIB and Zarr files into one virtual Zarr dataset"
	description = summary + ".\nThe files are not copied, and they may differ in chunks, codecs, packing and units."
)

type packageConfig struct {
	Name            string           `json:"name"`
	Arch            string           `json:"arch"`
	Platform        string           `json:"platform"`
	Version         string           `json:"version"`
	Section         string           `json:"section"`
	Priority        string           `json:"priority"`
	Maintainer      string           `json:"maintainer"`
	Description     string           `json:"description"`
	License         string           `json:"license"`
	DisableGlobbing bool             `json:"disable_globbing"`
	RPM             rpmConfig        `json:"rpm"`
	Contents        []packageContent `json:"contents"`
}

type rpmConfig struct {
	Summary   string `json:"summary"`
	BuildHost string `json:"buildhost"` // else the name of this machine would be in the package
}

type packageContent struct {
	Source      string      `json:"src"`
	Destination string      `json:"dst"`
	Info        contentInfo `json:"file_info"`
}

type contentInfo struct {
	Mode fs.FileMode `json:"mode"`
}

// packages writes a package of a kind, "deb" or "rpm", into the folder out.
func (b *builder) packages(ctx context.Context, kind string, t target, payload []file, out string) error {
	folder := filepath.Join(b.temp, kind+"_"+t.arch)
	config := packageConfig{
		Name: "varve", Arch: t.arch, Platform: t.os, Version: b.info.version, Section: "science", Priority: "optional",
		Maintainer: "The varve developers <varve@localhost>", Description: description, License: "Apache-2.0",
		DisableGlobbing: true, RPM: rpmConfig{summary, "localhost"},
	}
	for _, f := range payload {
		place, ok := installed(kind, f.name)
		if !ok {
			continue
		}
		data := f.data
		if strings.HasSuffix(place, ".gz") {
			var err error
			if data, err = gzipped(data); err != nil {
				return err
			}
		}
		source := filepath.Join(folder, filepath.FromSlash(f.name))
		if err := writeFile(source, data); err != nil {
			return err
		}
		config.Contents = append(config.Contents, packageContent{source, place, contentInfo{f.mode}})
	}
	text, err := json.Marshal(config) // JSON is YAML, which nfpm reads
	if err != nil {
		return err
	}
	name := filepath.Join(folder, "nfpm.yaml")
	if err := os.WriteFile(name, text, 0o666); err != nil {
		return err
	}
	if out, err = filepath.Abs(out); err != nil {
		return err
	}
	_, err = b.goCommand(ctx, target{runtime.GOOS, runtime.GOARCH}, "run", nfpm, "package", "--config", name, "--packager", kind, "--target", out)
	return err
}

// installed returns where a package of a kind installs a file of the archive. PowerShell's completions have no
// place on Linux.
func installed(kind, name string) (string, bool) {
	documents, zsh := "/usr/share/doc/varve/", "/usr/share/zsh/site-functions/_varve"
	license := "/usr/share/licenses/varve/LICENSE"
	if kind == "deb" {
		license, zsh = documents+"copyright", "/usr/share/zsh/vendor-completions/_varve"
	}
	switch name {
	case "varve":
		return "/usr/bin/varve", true
	case "LICENSE":
		return license, true
	case "README.md", "THIRD_PARTY_LICENSES":
		return documents + name, true
	case "completions/varve.bash":
		return "/usr/share/bash-completion/completions/varve", true
	case "completions/_varve":
		return zsh, true
	case "completions/varve.fish":
		return "/usr/share/fish/vendor_completions.d/varve.fish", true
	}
	if strings.HasPrefix(name, "man/") {
		return "/usr/share/" + name + ".gz", true
	}
	return "", false
}

// writeFile writes a file, and the folders above it.
func writeFile(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	return os.WriteFile(name, data, 0o666)
}
