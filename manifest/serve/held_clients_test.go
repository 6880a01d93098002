package serve_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"varve/codec"
	"varve/fixtures/venv"
	"varve/grid"
	"varve/zarrjson"
)

// reader is a client that reads the documents of a hierarchy once, and later requests chunks according to them.
type reader struct {
	address string
	schemas map[string]*zarrjson.Array
}

func download(ctx context.Context, address string) (status int, data []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, nil, err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, nil, err
	}
	data, err = io.ReadAll(resp.Body)
	return resp.StatusCode, data, errors.Join(err, resp.Body.Close())
}

func openReader(ctx context.Context, address string) (*reader, error) {
	c := &reader{address, map[string]*zarrjson.Array{}}
	status, data, err := download(ctx, address+"/zarr.json")
	if err != nil || status != http.StatusOK {
		return nil, fmt.Errorf("%s: %d %s: %w", address, status, data, err)
	}
	group, err := zarrjson.ParseGroup(data)
	if err != nil {
		return nil, err
	}
	for _, m := range group.Consolidated.Members {
		c.schemas[m.Path] = m.Array
	}
	return c, nil
}

// read reads all arrays, by name.
func (c *reader) read(ctx context.Context) (map[string]string, error) {
	all := map[string]string{}
	for name, schema := range c.schemas {
		elements, err := c.array(ctx, name, schema)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all[name] = string(elements)
	}
	return all, nil
}

func (c *reader) array(ctx context.Context, name string, schema *zarrjson.Array) ([]byte, error) {
	g, err := schema.Grid()
	if err != nil {
		return nil, err
	}
	whole := grid.Whole(schema.Shape)
	out := codec.NewElems(schema.Form(schema.Shape))
	w, err := g.WalkRegion(whole)
	if err != nil {
		return nil, err
	}
	for w.Next() {
		status, data, err := download(ctx, string(schema.Keys.Append([]byte(c.address+"/"+name+"/"), w.Coords)))
		if err != nil {
			return nil, err
		}
		form := schema.Form(w.Codec)
		chunk := codec.NewElems(form)
		chunk.SetFill(form)
		switch status {
		case http.StatusOK:
			p, err := codec.New(schema.Codecs, form)
			if err != nil {
				return nil, err
			}
			if err := p.Decode(chunk, data); err != nil {
				return nil, err
			}
		case http.StatusNotFound: // a missing chunk
		default:
			return nil, fmt.Errorf("%d %s", status, data)
		}
		from := grid.Window[byte]{Data: chunk.Fixed, Region: grid.Region{Origin: w.Origin, Shape: w.Codec}}
		if err := grid.Copy(grid.Window[byte]{Data: out.Fixed, Region: whole}, from, w.Region, int64(form.Type.Size)); err != nil {
			return nil, err
		}
	}
	return out.Fixed, nil
}

// pythonClients starts clients in Python that execute one command per line.
func pythonClients(t *testing.T) (tell func(t *testing.T, command string) (read map[string]any)) {
	t.Helper()
	python := venv.Python(t, "clients of Zarr")
	cmd := exec.CommandContext(t.Context(), python, "testdata/held.py")
	cmd.Stderr = t.Output()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	tell = func(t *testing.T, command string) (read map[string]any) {
		t.Helper()
		if _, err := fmt.Fprintln(in, command); err != nil {
			t.Fatal(err)
		}
		line, err := lines.ReadString('\n')
		if text, ok := strings.CutPrefix(line, "skip:"); ok {
			t.Skip(text)
		}
		if err := errors.Join(err, json.Unmarshal([]byte(line), &read)); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		return read
	}
	t.Cleanup(func() {
		_ = in.Close() // ends the process, unless its context has ended it
		_ = cmd.Wait()
	})
	return tell
}
