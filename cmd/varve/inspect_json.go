package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"varve/readers"
	"varve/readers/formats"
	"varve/readers/source"
)

// document is a JSON object: see package varve/readers/internal/describe for that of a file.
type document = map[string]any

// inspectJSON prints one file as one line. If the file cannot be read, the error is in the
// line, and is returned too.
func inspectJSON(ctx context.Context, opts inspectOptions, name string, out io.Writer) error {
	doc := document{"file": shortName(name), "source": source.Shown(name), "kind": "unknown", "status": "ok"}
	err := describeFile(ctx, opts, name, doc)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var partial *readers.PartialError
	if err != nil && !errors.As(err, &partial) {
		doc["status"], doc["error"] = "error", err.Error()
	}
	line, jsonErr := json.Marshal(doc)
	if jsonErr != nil {
		return fmt.Errorf("%s: %w", name, jsonErr)
	}
	_, writeErr := out.Write(append(line, '\n'))
	return errors.Join(err, writeErr)
}

// shortName returns the name of a file and of its folder.
func shortName(name string) string {
	dir, base := filepath.Split(filepath.Clean(source.Shown(name)))
	return filepath.Join(filepath.Base(dir), base)
}

func describeFile(ctx context.Context, opts inspectOptions, name string, doc document) error {
	src, done, err := openSource(ctx, opts, name)
	if err != nil {
		return err
	}
	err = formats.Describe(ctx, src, &readers.DescribeOptions{Allow: opts.allow, Checksum: opts.checksum, Values: opts.values}, doc)
	cost := src.Stats()
	doc["requests"], doc["bytes_read"] = cost.Requests, cost.Bytes
	return errors.Join(err, done())
}
