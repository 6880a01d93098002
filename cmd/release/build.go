package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// file is one file of an archive or package.
type file struct {
	name string // with slashes
	mode fs.FileMode
	data []byte
}

// builder builds the command and its documents from the module in root.
type builder struct {
	root string
	info info
	temp string // removed by close
}

func newBuilder(root string, i info) (*builder, error) {
	temp, err := os.MkdirTemp("", "varve-release-")
	if err != nil {
		return nil, err
	}
	return &builder{root, i, temp}, nil
}

func (b *builder) close() { os.RemoveAll(b.temp) }

// goCommand returns the output of a go command for a target. Variables of the user that would change the binary
// are reset.
func (b *builder) goCommand(ctx context.Context, t target, args ...string) ([]byte, error) {
	c := exec.CommandContext(ctx, cmp.Or(os.Getenv("GO"), "go"), args...)
	c.Dir = b.root
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+t.os, "GOARCH="+t.arch, "GOAMD64=v1", "GOARM64=v8.0",
		"GOFLAGS=", "GOEXPERIMENT=", "GOWORK=off", fmt.Sprintf("SOURCE_DATE_EPOCH=%d", b.info.time.Unix()))
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: go %s: %w", t, strings.Join(args, " "), withStderr(err))
	}
	return out, nil
}

// binary builds the command for a target and returns the name of its file.
func (b *builder) binary(ctx context.Context, t target) (string, error) {
	name := filepath.Join(b.temp, t.os+"_"+t.arch, "varve"+extension(t))
	if _, err := os.Stat(name); err == nil {
		return name, nil // built before
	}
	// Without -buildvcs=false a binary would also depend on whether Go finds git and the repository.
	flags := fmt.Sprintf("-s -w -X main.buildVersion=v%s -X main.buildCommit=%s", b.info.version, b.info.commit)
	_, err := b.goCommand(ctx, t, "build", "-trimpath", "-buildvcs=false", "-ldflags="+flags, "-o", name, "./cmd/varve")
	return name, err
}

func extension(t target) string {
	if t.os == "windows" {
		return ".exe"
	}
	return ""
}

// documents returns the files that are the same for all targets: manual pages, completions, LICENSE and README.md.
func (b *builder) documents(ctx context.Context) ([]file, error) {
	binary, err := b.binary(ctx, target{runtime.GOOS, runtime.GOARCH})
	if err != nil {
		return nil, err
	}
	pages := filepath.Join(b.temp, "man1")
	if out, err := exec.CommandContext(ctx, binary, "man", pages).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("varve man: %w: %s", err, out)
	}
	entries, err := os.ReadDir(pages)
	if err != nil {
		return nil, err
	}
	var files []file
	add := func(name, source string) error {
		data, err := os.ReadFile(source)
		files = append(files, file{name, 0o644, data})
		return err
	}
	for _, name := range []string{"LICENSE", "README.md"} {
		if err := add(name, filepath.Join(b.root, name)); err != nil {
			return nil, err
		}
	}
	for _, e := range entries {
		if err := add("man/man1/"+e.Name(), filepath.Join(pages, e.Name())); err != nil {
			return nil, err
		}
	}
	for _, c := range [][2]string{{"bash", "varve.bash"}, {"zsh", "_varve"}, {"fish", "varve.fish"}, {"powershell", "varve.ps1"}} {
		script, err := exec.CommandContext(ctx, binary, "completion", c[0]).Output()
		if err != nil {
			return nil, fmt.Errorf("varve completion %s: %w", c[0], withStderr(err))
		}
		files = append(files, file{"completions/" + c[1], 0o644, script})
	}
	return files, nil
}

// payload returns all files of the archive for a target: the command, the documents and the licenses.
func (b *builder) payload(ctx context.Context, t target, documents []file) ([]file, error) {
	binary, err := b.binary(ctx, t)
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	licenses, err := b.licenses(ctx, t)
	if err != nil {
		return nil, err
	}
	files := append([]file{{"varve" + extension(t), 0o755, data}, licenses}, documents...)
	slices.SortFunc(files, func(x, y file) int { return strings.Compare(x.name, y.name) })
	return files, nil
}

var licenseName = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)`)

// licenses returns a file with the licenses of Go and of all modules in the binary. Most licenses demand that
// copies of a binary include them.
func (b *builder) licenses(ctx context.Context, t target) (file, error) {
	goroot, err := b.goCommand(ctx, t, "env", "GOROOT")
	if err != nil {
		return file{}, err
	}
	list, err := b.goCommand(ctx, t, "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Version}}\t{{.Dir}}{{end}}{{end}}", "./cmd/varve")
	if err != nil {
		return file{}, err
	}
	lines := strings.Split(strings.TrimSpace(string(list)), "\n")
	slices.Sort(lines)
	lines = append([]string{"Go\t" + runtime.Version() + "\t" + strings.TrimSpace(string(goroot))}, slices.Compact(lines)...)
	var text bytes.Buffer
	for _, line := range lines {
		fields := strings.Split(line, "\t")
		if len(fields) < 3 {
			continue // packages of the standard library and of this module print an empty line
		}
		fmt.Fprintf(&text, "==== %s %s\n\n", fields[0], fields[1])
		entries, err := os.ReadDir(fields[2])
		if err != nil {
			return file{}, err
		}
		found := false
		for _, e := range entries {
			if e.IsDir() || !licenseName.MatchString(e.Name()) {
				continue
			}
			data, err := os.ReadFile(filepath.Join(fields[2], e.Name()))
			if err != nil {
				return file{}, err
			}
			found = true
			fmt.Fprintf(&text, "%s\n\n", bytes.TrimSpace(data))
		}
		if !found {
			return file{}, fmt.Errorf("%s %s: no license file in %s", fields[0], fields[1], fields[2])
		}
	}
	return file{"THIRD_PARTY_LICENSES", 0o644, text.Bytes()}, nil
}
