package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"varve/fixtures/classic"
)

// kind describes the files of an archive. Besides this, files differ only in their hour.
type kind struct {
	name       string
	variables  int  // number of variables, including the three coordinates
	attributes int  // number of attributes of each field
	hasCreated bool // each file has its own date_created attribute
	hasSince   bool // the units of time count from the hour of the file
}

// plain is the kind of files with one time, one small field and its two axes.
var plain = kind{name: "the same header", variables: 4}

var kinds = []kind{
	plain,
	{name: "attributes of their own (`date_created`)", variables: 4, hasCreated: true},
	{name: "units of their own (`hours since` when the file begins), 4 variables", variables: 4, hasSince: true},
	{name: "the same, 43 variables with six attributes each", variables: 43, attributes: 6, hasSince: true},
}

// hour returns the time of the values in file i.
func hour(i int) time.Time { return time.Date(1985, 1, 1, i, 0, 0, 0, time.UTC) }

// write writes n files, one for each hour from first on, to one folder per month below dir. It
// returns their names.
func (k kind) write(ctx context.Context, dir string, first, n int) (names []string, err error) {
	for i := first; i < first+n; i++ {
		// An interrupt must stop the writing of hundreds of thousands of files early.
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		at := hour(i)
		folder := filepath.Join(dir, at.Format("2006-01"))
		if err := os.MkdirAll(folder, 0o777); err != nil {
			return nil, err
		}
		name := filepath.Join(folder, at.Format("20060102T15")+".nc")
		if err := k.file(i).Write(name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

// file returns file i of the archive.
func (k kind) file(i int) *classic.File {
	f := &classic.File{Dims: []classic.Dim{{Name: "time", Length: 1}, {Name: "y", Length: 2}, {Name: "x", Length: 3}}}
	count, units := int32(i), "hours since "+hour(0).Format("2006-01-02 15:04")
	if k.hasSince {
		count, units = 0, "hours since "+hour(i).Format("2006-01-02 15:04")
	}
	if k.hasCreated {
		f.Attributes = []classic.Attribute{{Name: "date_created", Value: hour(i).AddDate(35, 0, 0).Format(time.RFC3339)}}
	}
	f.Vars = []classic.Var{
		{Name: "time", Dims: []string{"time"}, Data: []int32{count}, Attributes: []classic.Attribute{{Name: "units", Value: units}}},
		{Name: "y", Dims: []string{"y"}, Data: []float32{10, 20}},
		{Name: "x", Dims: []string{"x"}, Data: []float32{1, 2, 3}},
	}
	for n := range k.variables - len(f.Vars) {
		v := classic.Var{Name: fmt.Sprintf("v%d", n), Dims: []string{"time", "y", "x"}, Data: []float32{0, 1, 2, 3, 4, float32(i)}}
		for a := range k.attributes {
			v.Attributes = append(v.Attributes, classic.Attribute{Name: fmt.Sprintf("attribute_%d", a), Value: fmt.Sprintf("value %d of %s", a, v.Name)})
		}
		f.Vars = append(f.Vars, v)
	}
	return f
}
