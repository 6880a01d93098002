package kerchunk

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"varve/grid"
	"varve/manifest/internal/home"
	"varve/manifest/repo"
	"varve/readers/source"
	"varve/zarrjson"
)

// documentName is the name of the references in the draft.
const documentName = "refs.json"

// writeJSON writes the files next to the destination and renames them when they are complete.
func (e *export) writeJSON(ctx context.Context) (err error) {
	d, err := home.StageFile(ctx, e.dest)
	if err != nil {
		return err
	}
	defer func() { err = d.Discard(err) }()
	f, err := os.OpenFile(d.Path(documentName), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	e.patches.temp = d.Path(patchesName)
	w := &jsonWriter{export: e, file: f, buf: make([]byte, 0, 2*jsonBuffer)}
	if err := errors.Join(w.all(ctx), f.Close()); err != nil {
		return errors.Join(err, e.patches.close())
	}
	if err := e.finish(); err != nil {
		return err
	}
	if source.IsObject(e.dest) {
		return e.publishJSON(ctx, d)
	}
	return e.replaceJSON(ctx, d)
}

// publishJSON stores the files. Each export's file of patches has a unique name, so concurrent readers find
// the old references with the old patches or the new with the new. Old patches are removed at the end.
func (e *export) publishJSON(ctx context.Context, d *home.Stage) (err error) {
	p, key, err := home.PrefixOf(ctx, e.dest)
	if err != nil {
		return err
	}
	defer func() { err = p.Close(err) }()
	var old []string
	for name, err := range p.Walk(ctx, key+patchesName+"-") {
		if err != nil {
			return err
		}
		old = append(old, name)
	}
	own := key + patchesName + e.own
	if e.patches.file != nil {
		if err := d.PublishFile(ctx, patchesName, e.patchesFile(), true); err != nil {
			return err
		}
	}
	err = d.PublishFile(ctx, documentName, e.dest, e.opts.Force)
	// Another process has replaced the references; the patches of this export would never be used.
	if errors.Is(err, repo.ErrConflict) {
		return errors.Join(err, remove(ctx, p, own))
	}
	if err != nil {
		return err
	}
	return remove(ctx, p, old...)
}

func remove(ctx context.Context, h home.Home, keys ...string) error {
	_, err := h.Remove(ctx, keys...)
	return err
}

// replaceJSON renames the files to their final names. Concurrent readers find the old references with the old
// patches, no references, or the new ones with the new patches. After an error, the old files are restored.
// Only one export at a time may rename, because references of one must not meet patches of another.
func (e *export) replaceJSON(ctx context.Context, d *home.Stage) (err error) {
	done, err := home.Turn(ctx, filepath.Dir(e.dest))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	if err := e.checkDest(ctx); err != nil {
		return err
	}
	var undo []func() error
	// Restore in reverse order, so that the references come back after their patches.
	defer func() {
		for _, back := range slices.Backward(undo) {
			if err != nil {
				err = errors.Join(err, back())
			}
		}
	}()
	if e.opts.Force {
		for _, name := range []string{e.dest, e.patchesFile()} {
			aside := d.Path("old" + strconv.Itoa(len(undo)))
			switch err := os.Rename(name, aside); {
			case err == nil:
				undo = append(undo, func() error { return os.Rename(aside, name) })
			case !errors.Is(err, fs.ErrNotExist):
				return err
			}
		}
	}
	if e.patches.file != nil {
		if err := d.PublishFile(ctx, patchesName, e.patchesFile(), true); err != nil {
			return err
		}
		undo = append(undo, func() error { return os.Remove(e.patchesFile()) })
	}
	return d.PublishFile(ctx, documentName, e.dest, false)
}

// jsonBuffer is the number of bytes per write.
const jsonBuffer = 1 << 20

// jsonWriter writes references as JSON, entry by entry.
type jsonWriter struct {
	*export
	file *os.File
	buf  []byte
	more bool // an entry precedes the next

	// The fields below belong to the current array.
	prefix []byte // beginning of its keys: the quote and the path
	keys   zarrjson.KeyEncoding
	chunks grid.Region
	coords []int64

	source int64 // the previous one
	path   []byte
}

func (w *jsonWriter) all(ctx context.Context) error {
	// Readers ignore the member varve. By it a build knows that the references are no source of their own.
	w.buf = append(appendString(append(w.buf, `{"version":1,"varve":{"snapshot":`...), w.snapshot), `},"refs":{`...)
	for _, d := range w.docs.list {
		w.next()
		w.buf = append(appendString(w.buf, d.key), ':')
		w.buf = appendString(w.buf, string(d.json))
		if err := w.flush(jsonBuffer); err != nil {
			return err
		}
	}
	for n, a := range w.arrays {
		w.begin(a)
		if err := w.stream(ctx, n, 0, w); err != nil {
			return err
		}
	}
	w.buf = append(w.buf, "\n}}\n"...)
	return w.flush(0)
}

// next begins an entry on its own line.
func (w *jsonWriter) next() {
	if w.more {
		w.buf = append(w.buf, ',')
	}
	w.more = true
	w.buf = append(w.buf, '\n')
}

// flush writes the buffer if it holds more than above bytes.
func (w *jsonWriter) flush(above int) error {
	if len(w.buf) <= above {
		return nil
	}
	_, err := w.file.Write(w.buf)
	w.buf = w.buf[:0]
	return err
}

// begin prepares the keys of an array.
func (w *jsonWriter) begin(a array) {
	quoted := appendString(nil, arrayKey(a)+"/")
	w.prefix = quoted[:len(quoted)-1]
	w.keys = zarrjson.KeyEncoding{}
	if w.docs.format == 2 {
		w.keys = zarrjson.KeyEncoding{Style: zarrjson.V2Keys, Separator: '.'}
	}
	w.chunks = grid.Whole(a.Grid().Counts())
	w.coords = make([]int64, a.Grid().Rank())
	w.source = nowhere
}

// fits implements sink: JSON has no limit.
func (w *jsonWriter) fits([]byte) bool { return true }

// put implements sink.
func (w *jsonWriter) put(ctx context.Context, r *ref) error {
	defer w.chunks.Next(w.coords)
	if r.source == nowhere {
		return nil
	}
	w.next()
	w.buf = append(w.buf, w.prefix...)
	w.buf = w.keys.Append(w.buf, w.coords)
	if r.source == inRefs {
		w.buf = append(w.buf, `":"base64:`...)
		w.buf = base64.StdEncoding.AppendEncode(w.buf, r.raw)
		w.buf = append(w.buf, '"')
		return w.flush(jsonBuffer)
	}
	if err := w.name(ctx, r.source); err != nil {
		return err
	}
	w.putRange(r.offset, r.size)
	return w.flush(jsonBuffer)
}

// putRange writes the source range of the current key.
func (w *jsonWriter) putRange(offset, size int64) {
	w.buf = append(w.buf, `":[`...)
	w.buf = append(w.buf, w.path...)
	w.buf = append(w.buf, ',')
	w.buf = strconv.AppendInt(w.buf, offset, 10)
	w.buf = append(w.buf, ',')
	w.buf = strconv.AppendInt(w.buf, size, 10)
	w.buf = append(w.buf, ']')
}

// putRanges implements sink.
func (w *jsonWriter) putRanges(ctx context.Context, source int64, offsets, sizes []int64) error {
	if err := w.name(ctx, source); err != nil {
		return err
	}
	for i, offset := range offsets {
		w.next()
		w.buf = append(w.buf, w.prefix...)
		w.buf = w.keys.Append(w.buf, w.coords)
		w.putRange(offset, sizes[i])
		if err := w.flush(jsonBuffer); err != nil {
			return err
		}
		w.chunks.Next(w.coords)
	}
	return nil
}

// name sets path to the path of a source or of the patches.
func (w *jsonWriter) name(ctx context.Context, source int64) error {
	if source == w.source {
		return nil
	}
	text := w.patches.path
	if source != inPatches {
		var err error
		if text, err = w.paths.of(ctx, source); err != nil {
			return err
		}
	}
	w.source, w.path = source, appendString(w.path[:0], string(text))
	return nil
}

// appendString appends text as a JSON string.
func appendString(dst []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < 0x20 || c == '"' || c == '\\' || c >= 0x7f || c == '<' || c == '>' || c == '&' {
			raw, _ := json.Marshal(text) // a string can always be marshalled
			return append(dst, raw...)
		}
	}
	dst = append(dst, '"')
	dst = append(dst, text...)
	return append(dst, '"')
}
