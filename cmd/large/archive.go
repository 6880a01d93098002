package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"varve/fixtures/classic"
)

// kind is what sets the files of an archive apart, besides the hour that each is of.
type kind struct {
	name       string
	variables  int  // with the three coordinates
	attributes int  // of each field
	created    bool // each file says when it was made
	since      bool // times are counted from when the file begins
}

// plain are files of a time, a small field and its two axes.
var plain = kind{name: "the same header", variables: 4}

var kinds = []kind{
	plain,
	{name: "attributes of their own (`date_created`)", variables: 4, created: true},
	{name: "units of their own (`hours since` when the file begins), 4 variables", variables: 4, since: true},
	{name: "the same, 43 variables with six attributes each", variables: 43, attributes: 6, since: true},
}

// hour is the time that a file is of.
func hour(i int) time.Time { return time.Date(1985, 1, 1, i, 0, 0, 0, time.UTC) }

// write writes files of hours from first on, in folders by month, and returns their names.
func (k kind) write(ctx context.Context, dir string, first, n int) (names []string, err error) {
	for i := first; i < first+n; i++ {
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

func (k kind) file(i int) *classic.File {
	f := &classic.File{Dims: []classic.Dim{{Name: "time", Length: 1}, {Name: "y", Length: 2}, {Name: "x", Length: 3}}}
	count, units := int32(i), "hours since "+hour(0).Format("2006-01-02 15:04")
	if k.since {
		count, units = 0, "hours since "+hour(i).Format("2006-01-02 15:04")
	}
	if k.created {
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
			v.Attributes = append(v.Attributes, classic.Attribute{Name: fmt.Sprintf("attribute_%d", a), Value: fmt.Sprintf("what %d says of %s", a, v.Name)})
		}
		f.Vars = append(f.Vars, v)
	}
	return f
}
