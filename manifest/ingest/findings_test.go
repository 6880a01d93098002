package ingest

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"varve/manifest/plan"
	"varve/manifest/report"
	"varve/manifest/report/reporttest"
	"varve/manifest/scan"
	"varve/readers/source"
)

// folderTransport answers requests with the files of a folder.
type folderTransport string

// RoundTrip answers a request.
func (f folderTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	http.FileServer(http.Dir(string(f))).ServeHTTP(w, req)
	resp := w.Result()
	resp.Request = req
	return resp, nil
}

// TestFindingExamples causes each finding that this package adds to the findings of the planner.
func TestFindingExamples(t *testing.T) {
	dir := t.TempDir()
	var names []string
	for _, month := range []string{"01", "02", "03"} {
		data, err := os.ReadFile("../../fixtures/demo/2021-" + month + ".nc")
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(dir, "2021-"+month+".nc")
		if err := os.WriteFile(name, data, 0o666); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	recorder := reporttest.Recorder{Folder: dir}
	// causes checks that a report or a refusal has a finding with a code.
	causes := func(code report.Code, outcome *Result, err error) {
		t.Helper()
		var findings []report.Finding
		var refused *plan.Error
		var broken *scan.BrokenError
		switch {
		case errors.As(err, &refused):
			findings = refused.Findings
		case errors.As(err, &broken):
			findings = UnreadableFindings(broken)
		case err != nil:
			t.Fatal(err)
		default:
			findings = outcome.Report.Findings
		}
		for _, f := range findings {
			if f.Code == code {
				recorder.Add([]report.Finding{f})
				return
			}
		}
		t.Errorf("%s: got %+v", code, findings)
	}
	check := func(opts *Options, names ...string) (*Result, error) {
		opts.Sources.Names = names
		return Check(t.Context(), opts)
	}

	outcome, err := check(&Options{}, names[0], names[0])
	causes(report.RepeatedSource, outcome, err)

	configured(t)
	out := filepath.Join(dir, "t2m.varve")
	mustBuild(t, out, names[:2]...)
	_, err = Append(t.Context(), out, optionsFor(names[1]))
	causes(report.KnownSource, nil, err)
	outcome, err = Append(t.Context(), out, optionsFor(names[2]))
	causes(report.Replanned, outcome, err)
	outcome, err = check(&Options{Sources: Sources{}}, dir)
	causes(report.ManifestSkipped, outcome, err)

	copied := filepath.Join(dir, "copy.zarr")
	writeStore(t, copied, 0, "")
	if err := errors.Join(os.MkdirAll(filepath.Join(copied, ".varve"), 0o777), os.WriteFile(filepath.Join(copied, ".varve", "copy.json"), []byte("{}"), 0o666)); err != nil {
		t.Fatal(err)
	}
	outcome, err = check(&Options{Sources: Sources{}}, dir)
	causes(report.OutputSkipped, outcome, err)
	if err := os.RemoveAll(copied); err != nil {
		t.Fatal(err)
	}

	masked := filepath.Join(dir, "filter_masks.h5")
	data, err := os.ReadFile("../../fixtures/hdf5/filter_masks.h5")
	if err := errors.Join(err, os.WriteFile(masked, data, 0o666)); err != nil {
		t.Fatal(err)
	}
	outcome, err = check(&Options{}, masked)
	causes(report.FiltersSkipped, outcome, err)
	_, err = check(&Options{Plan: plan.Options{Strict: true, Vars: []string{"/masked"}}}, masked)
	causes(report.StrictReencodes, nil, err)

	packed := []string{packedFile(t, dir, 1, 0.01, 0, 100, 200, 300), packedFile(t, dir, 2, 0.01, 0, 4, 5, 6), packedFile(t, dir, 3, 0.004, 0, 1001, 7, 8)}
	repack := plan.Options{Inline: new(int64(0)), Repack: []plan.Repack{{Array: "v", Scale: 0.01}}}
	outcome, err = check(&Options{Plan: repack}, packed...)
	causes(report.Repacked, outcome, err)
	outcome, err = check(&Options{Plan: repack}, packed[0], packedFile(t, dir, 4, 1, 0, 1000, 2, 3))
	causes(report.RepackChanges, outcome, err)

	cut := filepath.Join(dir, "cut.nc")
	if err := os.WriteFile(cut, []byte("CDF"), 0o666); err != nil {
		t.Fatal(err)
	}
	outcome, err = check(&Options{}, names[0], cut)
	causes(report.UnreadableFile, outcome, err)

	large := filepath.Join(dir, "large.zarr")
	writeText(t, filepath.Join(large, ".zgroup"), `{"zarr_format":2}`)
	writeText(t, filepath.Join(large, "v", ".zarray"), `{"zarr_format":2,"shape":[3600,7200],"chunks":[3600,7200],"dtype":"<f4","order":"C",`+
		`"compressor":{"id":"zlib","level":4},"fill_value":null,"filters":[{"id":"shuffle","elementsize":4}]}`)
	writeText(t, filepath.Join(large, "v", "0.0"), "a chunk that check does not read")
	outcome, err = check(&Options{}, large)
	causes(report.ChunksLarge, outcome, err)

	part := filepath.Join(dir, "part")
	undamaged := &Options{Sources: Sources{Names: []string{brokenArchive(t, "index of u")}}, Plan: plan.Options{Drop: []string{"/u", "/t"}, Vars: []string{"nothing"}}}
	if _, err := Scan(t.Context(), part, undamaged); err != nil {
		t.Fatal(err)
	}
	outcome, err = check(&Options{}, part)
	causes(report.VariableDamaged, outcome, err)

	// A URL has the same name in each run, which a server of a test has not.
	far := func(queries ...string) (*Result, error) {
		var urls []string
		for _, q := range queries {
			urls = append(urls, "https://data.example.org/2021-01.nc?"+q)
		}
		return check(&Options{Opener: source.NewOpener(&source.Options{Transport: folderTransport(dir)})}, urls...)
	}
	outcome, err = far("key=SECRET&var=t2m")
	causes(report.QueryNotStored, outcome, err)
	_, err = far("id=1", "id=2")
	causes(report.QueryNeeded, nil, err)
	opener := source.NewOpener(&source.Options{Transport: folderTransport(dir)})
	old := Options{Sources: Sources{Names: []string{"https://data.example.org/2021-01.nc?key=SECRET&var=t2m"}}, Opener: opener, Plan: plan.Options{KeepQuery: []string{"key"}}}
	secret := filepath.Join(dir, "secret.varve")
	if _, err := Build(t.Context(), secret, &old); err != nil {
		t.Fatal(err)
	}
	forgetKept(t, secret)
	outcome, err = Append(t.Context(), secret, optionsFor(names[1]))
	causes(report.QueryStored, outcome, err)

	// A device in place of the folder for keys prevents the seal.
	t.Setenv("XDG_CONFIG_HOME", "/dev/null")
	outcome, err = Build(t.Context(), filepath.Join(dir, "open.varve"), optionsFor(names[0]))
	causes(report.NotSealed, outcome, err)

	if runtime.GOOS == "windows" {
		return // errors of files have other texts there
	}
	if err := recorder.Check("../report/text/examples/build.txt"); err != nil {
		t.Error(err)
	}
}
