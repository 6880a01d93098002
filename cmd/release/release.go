package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

// release makes all files of a release and then replaces the folder out with them.
func (b *builder) release(ctx context.Context, out string, targets []target, url string) error {
	draft := out + ".partial"
	if err := os.RemoveAll(draft); err != nil {
		return err
	}
	if err := os.MkdirAll(draft, 0o777); err != nil {
		return err
	}
	defer os.RemoveAll(draft) // what a failed run left
	documents, err := b.documents(ctx)
	if err != nil {
		return err
	}
	var archives []archive
	for _, t := range targets {
		fmt.Fprintln(os.Stderr, "release:", t)
		a, err := b.target(ctx, t, documents, draft)
		if err != nil {
			return err
		}
		archives = append(archives, a)
	}
	if err := b.recipes(archives, url, draft); err != nil {
		return err
	}
	if err := writeChecksums(draft); err != nil {
		return err
	}
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	return os.Rename(draft, out)
}

// archive is a finished archive, as the templates see it.
type archive struct {
	Name, SHA256, OS, Arch string
}

// Selector returns the comment by which conda chooses the lines of one system.
func (a archive) Selector() string {
	system := map[string]string{"linux": "linux", "darwin": "osx", "windows": "win"}[a.OS]
	arch := "x86_64"
	if a.Arch == "arm64" {
		arch = "arm64"
		if a.OS == "linux" {
			arch = "aarch64"
		}
	}
	return "# [" + system + " and " + arch + "]"
}

// target writes the archive of a target, the list of its modules, and for Linux its packages.
func (b *builder) target(ctx context.Context, t target, documents []file, out string) (archive, error) {
	payload, err := b.payload(ctx, t, documents)
	if err != nil {
		return archive{}, err
	}
	pack, end := tarGz, ".tar.gz"
	if t.os == "windows" {
		pack, end = zipped, ".zip"
	}
	// The folder has the same name for all systems, so that the container file can name it.
	data, err := pack("varve-"+b.info.version, payload, b.info.time)
	if err != nil {
		return archive{}, err
	}
	base := fmt.Sprintf("varve_%s_%s_%s", b.info.version, t.os, t.arch)
	if err := writeFile(filepath.Join(out, base+end), data); err != nil {
		return archive{}, err
	}
	binary, err := b.binary(ctx, t)
	if err != nil {
		return archive{}, err
	}
	modules, err := sbom(b.info, t, base+end, data, binary)
	if err != nil {
		return archive{}, err
	}
	if err := writeFile(filepath.Join(out, base+".spdx.json"), modules); err != nil {
		return archive{}, err
	}
	if t.os == "linux" {
		for _, kind := range []string{"deb", "rpm"} {
			if err := b.packages(ctx, kind, t, payload, out); err != nil {
				return archive{}, err
			}
		}
	}
	sum := sha256.Sum256(data)
	return archive{base + end, hex.EncodeToString(sum[:]), t.os, t.arch}, nil
}

//go:embed templates
var templates embed.FS

// recipes writes the conda recipe, the container file and the script that installs the binary.
func (b *builder) recipes(archives []archive, url, out string) error {
	base := "../" // conda-build reads it as a path from the folder of the recipe
	if url != "" {
		base = strings.TrimSuffix(url, "/") + "/"
	}
	parsed, err := template.ParseFS(templates, "templates/*")
	if err != nil {
		return err
	}
	values := map[string]any{
		"Version": b.info.version, "CondaVersion": condaVersion(b.info.version), "Base": base, "URL": url, "Archives": archives, "Summary": summary,
	}
	for source, name := range map[string]string{"meta.yaml": "recipe/meta.yaml", "Containerfile": "Containerfile", "install.sh": "install.sh"} {
		var text bytes.Buffer
		if err := parsed.ExecuteTemplate(&text, source, values); err != nil {
			return err
		}
		if err := writeFile(filepath.Join(out, filepath.FromSlash(name)), text.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// condaVersion returns a semantic version in the form of conda, which has no hyphens and in which 1.2.3rc.1 is
// before 1.2.3.
func condaVersion(version string) string { return strings.Replace(version, "-", "", 1) }

// writeChecksums writes SHA256SUMS, which sha256sum --check reads, for all files of a folder.
func writeChecksums(folder string) error {
	var text bytes.Buffer
	err := filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(folder, name)
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%x  %s\n", sha256.Sum256(data), filepath.ToSlash(relative))
		return nil
	})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "SHA256SUMS"), text.Bytes(), 0o666)
}
