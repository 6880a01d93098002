package serve

import (
	"context"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"varve/manifest/netcdffile"
)

// A dataset is also one netCDF-4 file, at
//
//	/NAME.nc               beside the addresses of several manifests
//	/NAME/NAME.nc          below that of one; NAME is the name of its folder, without extension
//	/NAME/@SNAPSHOT/NAME.nc
//	/NAME?as=nc            instead of a page
//
// An array or group with the name of the file takes precedence.
const netcdfExtension = ".nc"

// netcdf is the file of a snapshot. It is described on first use.
type netcdf struct {
	mu   sync.Mutex
	file *netcdffile.File
	made time.Time
}

// retryFailed is how long a file is kept that has arrays which could not be read.
const retryFailed = time.Minute

// fileName returns the name of the file of a manifest.
func (p *mount) fileName() string {
	if p.name != "" {
		return p.name + netcdfExtension
	}
	absolute, err := filepath.Abs(p.dir)
	if err != nil {
		absolute = p.dir
	}
	base := filepath.Base(absolute)
	return strings.TrimSuffix(base, filepath.Ext(base)) + netcdfExtension
}

// netcdfOf returns the file of a snapshot, or nil if its data cannot be one. The first call logs what the file does not have.
func (h *Handler) netcdfOf(ctx context.Context, s *site) (*netcdffile.File, error) {
	data, ok := s.data.(storeDataset)
	if !ok {
		return nil, nil
	}
	s.netcdf.mu.Lock()
	defer s.netcdf.mu.Unlock()
	if f := s.netcdf.file; f != nil && (len(f.Failed()) == 0 || time.Since(s.netcdf.made) < retryFailed) {
		return f, nil
	}
	f, err := netcdffile.Open(ctx, data.Store, &h.opts.NetCDF)
	if err != nil {
		return nil, err
	}
	for _, o := range f.Omitted() {
		h.opts.Log.Info("not in the netCDF file", "manifest", s.name, "path", o.Path, "why", o.Why)
	}
	for _, o := range f.Failed() {
		h.opts.Log.Error("unreadable in the netCDF file", "manifest", s.name, "path", o.Path, "why", o.Why)
	}
	s.netcdf.file, s.netcdf.made = f, time.Now()
	return f, nil
}

// serveNetCDF answers with the dataset as a netCDF file, if the path is its name or the query asks for it.
func (h *Handler) serveNetCDF(w http.ResponseWriter, r *http.Request, at *address, s *site, path string) bool {
	if !(path == "" && r.URL.RawQuery == "as=nc") && (path != at.fileName() || r.URL.RawQuery != "") {
		return false
	}
	if _, ok := s.node(path); ok && path != "" {
		h.opts.Log.Info("an array or group has the name of the netCDF file, which is at ?as=nc", "manifest", at.dir, "path", path)
		return false
	}
	f, err := h.netcdfOf(r.Context(), s)
	if err != nil {
		s.fail(w, r, err)
		return true
	}
	if f == nil {
		return false
	}
	note(w, kindFile)
	w.Header().Set("Content-Type", "application/x-netcdf")
	w.Header().Set("Content-Disposition", "attachment; filename*=UTF-8''"+escape(at.fileName()))
	s.serveFile(w, r, f)
	return true
}

// serveNamedNetCDF answers a request for the file of one of several manifests, beside their addresses.
func (h *Handler) serveNamedNetCDF(w http.ResponseWriter, r *http.Request, path string) bool {
	name, ok := strings.CutSuffix(path, netcdfExtension)
	p := h.byName[name]
	if !ok || p == nil || name == "" {
		return false
	}
	s := p.current(inFull)
	if s == nil {
		refuse(w, r, errClosing)
		return true
	}
	defer s.leave(h.opts.Log)
	if r.URL.RawQuery == "as=nc" {
		path = ""
	}
	return h.serveNetCDF(w, r, &address{p, p.base, p.current}, s, path)
}

// filePiece is the size of the pieces in which a file is made and sent.
const filePiece = 1 << 20

// serveFile answers with a file that is made while it is sent. If that fails later than in the first piece, the connection is
// broken, because nothing else tells the client that the answer is incomplete.
func (s *site) serveFile(w http.ResponseWriter, r *http.Request, f *netcdffile.File) {
	etag := `"` + f.Tag() + `"`
	if answerConditional(w, r, etag) {
		return
	}
	done, ok := s.answers.take(r.Context(), filePiece)
	if !ok {
		s.fail(w, r, errSlow)
		return
	}
	defer done()
	part, _, err := selectPart(r, etag, f.Size())
	room := make([]byte, min(part.length, filePiece))
	if err == nil && r.Method != http.MethodHead {
		err = s.readFile(r.Context(), f, room, part.from)
		if err != nil {
			s.fail(w, r, err)
			return
		}
	}
	if _, ok := begin(w, r, etag, f.Size()); !ok {
		return
	}
	for {
		if _, err := w.Write(room); err != nil {
			return // the client has disconnected
		}
		part.from, part.length = part.from+int64(len(room)), part.length-int64(len(room))
		if part.length == 0 {
			return
		}
		room = room[:min(part.length, filePiece)]
		if err := s.readFile(r.Context(), f, room, part.from); err != nil {
			if rec, ok := w.(*recorder); ok {
				rec.err = err
			}
			panic(http.ErrAbortHandler)
		}
	}
}

// readFile makes a piece of a file, within the limits of concurrent work.
func (s *site) readFile(ctx context.Context, f *netcdffile.File, b []byte, off int64) error {
	made, ok := s.create(ctx, f.Work())
	if !ok {
		return errBusy
	}
	defer made()
	_, err := f.ReadAt(ctx, b, off)
	return err
}
