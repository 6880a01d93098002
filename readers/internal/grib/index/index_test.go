package index_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"varve/codec"
	"varve/readers/internal/grib/index"
)

var newYear = time.Date(2021, 1, 1, 0, 0, 0, 0, time.UTC)

func TestParse(t *testing.T) {
	const ecmwf = `{"domain": "g", "date": "20210101", "time": "0000", "step": "6", "levtype": "sfc", "param": "2t", "_offset": 10, "_length": 20}`
	const said = `"domain": "g","step": "6","levtype": "sfc","param": "2t"`
	for _, c := range []struct {
		name, text string
		want       []index.Entry
		skipped    int
		isCut      bool
	}{
		{"wgrib2", "1:0:d=2021010100:TMP:2 m above ground:anl:\n2:50:d=2021010100:TMP:500 mb:anl:\n", []index.Entry{
			{1, 0, 50, false, newYear, "TMP:2 m above ground:anl:"}, {2, 50, index.Unknown, false, newYear, "TMP:500 mb:anl:"}}, 0, false},
		{"minutes and seconds", "1:0:d=202101010000:A:B:C:\n2:9:D=20210101000000:A:B:C:\n", []index.Entry{
			{1, 0, 9, false, newYear, "A:B:C:"}, {2, 9, index.Unknown, false, newYear, "A:B:C:"}}, 0, false},
		{"several fields in a message", "1.1:0:d=2021010100:U:B:C:\n1.2:0:d=2021010100:V:B:C:\n2:70:d=2021010100:A:B:C:\n", []index.Entry{
			{1, 0, index.Unknown, true, newYear, "U:B:C:"}, {2, 0, 70, true, newYear, "V:B:C:"}, {3, 70, index.Unknown, false, newYear, "A:B:C:"}}, 0, false},
		{"ranges", "1:5:d=2021010100:A:B:C:range=5-24\n2:50:range=50-59:d=2021010100:A:B:C:\n", []index.Entry{
			{1, 5, 20, false, newYear, "A:B:C:"}, {2, 50, 10, false, newYear, "A:B:C:"}}, 0, false},
		{"a line between that is not understood", "1:0:d=2021010100:A:B:C:\n?\n2:50:d=2021010100:A:B:C:\n", []index.Entry{
			{1, 0, index.Unknown, false, newYear, "A:B:C:"}, {3, 50, index.Unknown, false, newYear, "A:B:C:"}}, 1, false},
		{"a line that is cut", "1:0:d=2021010100:A:B:C:\n2:50:d=2021010100:A:B:2", []index.Entry{{1, 0, index.Unknown, false, newYear, "A:B:C:"}}, 1, true},
		{"no newline at the end", "1:0:d=2021010100:A:B:C:", []index.Entry{{1, 0, index.Unknown, false, newYear, "A:B:C:"}}, 0, false},
		{"wgrib of edition 1", "1:0:d=21010100:TMP:kpds5=11:kpds6=105:kpds7=2:TR=0:P1=0:P2=0:TimeU=1:2 m above gnd:anl:NAve=1\n", nil, 1, true},
		{"ECMWF", ecmwf + "\n", []index.Entry{{1, 10, 20, false, newYear, said}}, 0, false},
		{"ECMWF in another order", `{"_length":20,"time":"0000","_offset":10,"param":"2t","date":"20210101"}`, []index.Entry{{1, 10, 20, false, newYear, `"param":"2t"`}}, 0, false},
		{"two formats", ecmwf + "\n1:0:d=2021010100:A:B:C:\n", []index.Entry{{1, 10, 20, false, newYear, said}}, 1, true},
		{"empty", "", nil, 0, false},
		{"empty lines", "\n\r\n\n", nil, 0, false},
	} {
		f, err := index.Parse([]byte(c.text))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if fmt.Sprint(f.Entries) != fmt.Sprint(c.want) || f.Skipped != c.skipped || f.IsCut != c.isCut {
			t.Errorf("%s: %+v, %d lines skipped, cut %v; want %+v, %d, %v", c.name, f.Entries, f.Skipped, f.IsCut, c.want, c.skipped, c.isCut)
		}
	}
}

// TestNotUnderstood checks that texts with unknown words are not guessed.
func TestNotUnderstood(t *testing.T) {
	for _, line := range []string{
		"1:-5:d=2021010100:A:B:C:", "1:99999999999999999999:d=2021010100:A:B:C:", "x:0:d=2021010100:A:B:C:", "1.x:0:d=2021010100:A:B:C:", "1:0:d=2021013200:A:B:C:",
		"1:0:d=2021010125:A:B:C:", "1:0:d=202101010:A:B:C:", "1:0:2021010100:A:B:C:", "1:0:d=2021010100:A:", "1:0:d=2021010100::B:C:", "1:0", "1:0:d=2021010100",
		"1:5:range=4-8:d=2021010100:A:B:C:", "1:5:range=5-4:d=2021010100:A:B:C:", "1:5:d=2021010100:A:B:C:range=x-9:",
		`{"date":"20210101","time":"0000","param":"t","_offset":0}`, `{"date":"20210101","time":"0000","param":"t","_offset":0,"_length":0}`,
		`{"date":"20210101","time":"0000","param":"t","_offset":-1,"_length":9}`, `{"date":"20210101","time":"0000","param":"t","_offset":0,"_offset":1,"_length":9}`,
		`{"date":"20210101","time":"00","param":"t","_offset":0,"_length":9}`, `{"date":"20211301","time":"0000","param":"t","_offset":0,"_length":9}`,
		`{"date":"20210101","time":"0000","param":"\u0074","_offset":0,"_length":9}`, `{"date":"20210101","time":"0000","param":["t"],"_offset":0,"_length":9}`,
		`{"date":"20210101","time":"0000","param":"t","_offset":0,"_length":9`, `{"date":"20210101","time":"0000","param":"t","_offset":0,"_length":9} x`,
		`{"date":"20210101","time":"0000","param":"t","_offset":1.5,"_length":9}`, `{"date":"20210101","time":"0000","_offset":0,"_length":9}`, "{}", "{",
	} {
		f, err := index.Parse([]byte(line + "\n"))
		if err != nil || len(f.Entries) > 0 || f.Skipped != 1 {
			t.Errorf("%s: %+v, %v", line, f, err)
		}
	}
}

func TestLimits(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write(make([]byte, index.MaxBytes+1))
	z.Close()
	for name, b := range map[string][]byte{
		"too many bytes when unpacked": packed.Bytes(), "damaged gzip": packed.Bytes()[:100], "no gzip": {0x1f, 0x8b, 9, 9},
		"too many lines": []byte(strings.Repeat("x\n", 1<<18+1)),
	} {
		if _, err := index.Parse(b); !errors.Is(err, codec.ErrCorrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDescribe(t *testing.T) {
	for _, c := range []struct {
		format     index.Format
		text, kind string
		level      string // surface, top and bottom in SI units
		step       string
		member     int64 // or -1
	}{
		{index.WGRIB2, "TMP:500 mb:6 hour fcst:", "TMP:# mb:# fcst:", "100 50000 50000 false", "6h0m0s 6h0m0s false true", -1},
		{index.WGRIB2, "TMP:0.4 mb:anl:", "TMP:low # mb:anl:", "100 40 40 false", "0s 0s false true", -1},
		{index.WGRIB2, "TMP:1 mb:15 min fcst:", "TMP:# mb:# fcst:", "100 100 100 false", "15m0s 15m0s false true", -1},
		{index.WGRIB2, "LFTX:500-1000 mb:2 day fcst:", "LFTX:#-# mb:# fcst:", "100 50000 100000 true", "48h0m0s 48h0m0s false true", -1},
		{index.WGRIB2, "CAPE:255-0 mb above ground:anl:", "CAPE:#-# mb above ground:anl:", "108 25500 0 true", "0s 0s false true", -1},
		{index.WGRIB2, "APCP:surface:0-6 hour acc fcst:", "APCP:surface:#-# acc fcst:", "", "0s 6h0m0s true true", -1},
		{index.WGRIB2, "APCP:surface:0-1 day acc fcst:", "APCP:surface:#-# acc fcst:", "", "0s 24h0m0s true true", -1},
		{index.WGRIB2, "TSOIL:0.1-0.4 m below ground:anl:", "TSOIL:#-# m below ground:anl:", "106 0.1 0.4 true", "0s 0s false true", -1},
		{index.WGRIB2, "HGT:PV=2e-06 (Km^2/kg/s) surface:anl:", "HGT:PV=# (Km^2/kg/s) surface:anl:", "109 2e-06 2e-06 false", "0s 0s false true", -1},
		{index.WGRIB2, "HGT:PV=-2e-06 (Km^2/kg/s) surface:anl:", "HGT:PV=-2e-06 (Km^2/kg/s) surface:anl:", "", "0s 0s false true", -1},
		{index.WGRIB2, "TMP:2 m above ground:6 hour fcst:ENS=+3", "TMP:# m above ground:# fcst:ENS=+#", "103 2 2 false", "6h0m0s 6h0m0s false true", 3},
		{index.WGRIB2, "TMP:2 m above ground:6 hour fcst:ENS=low-res ctl", "TMP:# m above ground:# fcst:ENS=low-res ctl", "103 2 2 false", "6h0m0s 6h0m0s false true", -1},
		{index.WGRIB2, "TMP:123456 m above ground:6-3 hour acc fcst:", "TMP:123456 m above ground:6-3 hour acc fcst:", "", "", -1},
		{index.WGRIB2, "TMP:entire atmosphere:6 hour ave anl:", "TMP:entire atmosphere:6 hour ave anl:", "", "", -1},
		{index.ECMWF, `"levtype": "pl","levelist": "500","step": "6","number": "2","param": "t"`, "levtype=pl,levelist=#,step=#,number=#,param=t", "100 50000 50000 false", "6h0m0s 6h0m0s false false", 2},
		{index.ECMWF, `"levtype": "ml","levelist": "137","step": "0-24"`, "levtype=ml,levelist=137,step=#-#", "", "0s 24h0m0s true true", -1},
		{index.ECMWF, `"levtype": "sfc","step": "90m"`, "levtype=sfc,step=90m", "", "", -1},
	} {
		d := c.format.Describe(c.text)
		level, step, member := "", "", int64(-1)
		if l := d.Level; l != nil {
			level = fmt.Sprint(l.Surface, round(l.Top), round(l.Bottom), l.IsLayer)
		}
		if s := d.Step; s != nil {
			step = fmt.Sprint(s.Start, s.End, s.IsRange, s.HasStart)
		}
		if d.Member != nil {
			member = *d.Member
		}
		if d.Kind != c.kind || level != c.level || step != c.step || member != c.member {
			t.Errorf("%s: kind %q, level %q, step %q, member %d; want %q, %q, %q, %d", c.text, d.Kind, level, step, member, c.kind, c.level, c.step, c.member)
		}
	}
}

func round(d index.Decimal) float64 { return math.Round(d.Float()*1e9) / 1e9 }

func TestDecimal(t *testing.T) {
	for _, c := range []struct {
		text  string
		scale int
		want  int64
		ok    bool
	}{
		{"500", 0, 500, true}, {"0.4", 1, 4, true}, {"0.4", 0, 0, false}, {"2e-06", 9, 2000, true}, {"1e+02", 0, 100, true}, {"0.10", 1, 1, true}, {"1e5", -2, 1000, true},
		{"99999", 9, 0, false}, {"123456", 0, 0, false}, {"", 0, 0, false}, {"-5", 0, 0, false}, {"1.", 0, 0, false}, {".5", 0, 0, false}, {"1e99", 0, 0, false},
		{"1e-99999999999999999999", 0, 0, false}, {"0", 5, 0, true}, {"nan", 0, 0, false}, {"٣", 0, 0, false},
	} {
		d, ok := index.ParseDecimal(c.text)
		n := int64(0)
		if ok {
			n, ok = d.At(c.scale)
		}
		if n != c.want && c.ok || ok != c.ok {
			t.Errorf("%s at scale %d: %d, %v; want %d, %v", c.text, c.scale, n, ok, c.want, c.ok)
		}
	}
}

// FuzzParse parses arbitrary bytes. Offsets must not be negative, lengths must be positive or unknown, and texts must be described.
func FuzzParse(f *testing.F) {
	names, err := filepath.Glob("../../../../fixtures/gribindex/*.i*x")
	if err != nil || len(names) == 0 {
		f.Fatal("no samples", err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := index.Parse(b)
		if err != nil {
			if !errors.Is(err, codec.ErrCorrupt) {
				t.Errorf("error %v is not codec.ErrCorrupt", err)
			}
			return
		}
		for i := range list.Entries {
			e := &list.Entries[i]
			if e.Offset < 0 || e.Length < index.Unknown || e.Length == 0 || e.Line < 1 || e.Reference.Year() > 9999 || e.Text == "" {
				t.Fatalf("entry %+v", e)
			}
			d := list.Format.Describe(e.Text)
			if d.Kind == "" || d.Step != nil && (d.Step.End < d.Step.Start || d.Step.Start < 0) {
				t.Fatalf("entry %+v is described as %+v", e, d)
			}
		}
	})
}

// FuzzDescribe describes arbitrary texts.
func FuzzDescribe(f *testing.F) {
	f.Add("TMP:0.1-0.4 m below ground:0-6 hour acc fcst:ENS=+3")
	f.Add(`"levtype": "pl","levelist": "500","step": "0-24","number": "2"`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, format := range []index.Format{index.WGRIB2, index.ECMWF} {
			if l := format.Describe(text).Level; l != nil && (l.Top.Float() < 0 || math.IsInf(l.Top.Float(), 0)) {
				t.Fatalf("%q: level %+v", text, l)
			}
		}
	})
}
