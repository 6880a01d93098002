package describe

import (
	"context"
	"errors"
	"fmt"

	"varve/readers"
	"varve/readers/internal/hdf5"
	"varve/readers/netcdf3"
	"varve/readers/source"
)

// NetCDF3 describes a file of CDF-1, CDF-2 or CDF-5.
func NetCDF3(ctx context.Context, src *source.Source, opts *readers.DescribeOptions, doc document) error {
	doc["kind"] = "netcdf3"
	f, err := netcdf3.OpenFile(ctx, src)
	if err != nil {
		return err
	}
	doc["classic"] = classicHeader(f)
	data := f.Dataset()
	if err := f.Header().Misplaced(); err != nil {
		doc["netcdf"] = document{"error": err.Error()}
	} else {
		doc["netcdf"] = document{
			"format":     [...]string{1: "NETCDF3_CLASSIC", 2: "NETCDF3_64BIT_OFFSET", 5: "NETCDF3_64BIT_DATA"}[f.Header().Version],
			"attributes": classicAttributes(data.Root.Attributes),
			"dimensions": classicDimensions(data.Root.Dimensions),
			"groups":     []document{},
			"variables":  classicVariables(ctx, opts, f),
		}
	}
	if len(data.Problems) > 0 {
		doc["problems"] = problemList(data.Problems)
	}
	if f.Header().Err != nil {
		return f.Header().Err
	}
	var marks damage
	for _, p := range data.Problems {
		marks.note(p.Err)
	}
	return errors.Join(ctx.Err(), marks.first)
}

func problemList(problems []readers.Problem) []document {
	out := make([]document, len(problems))
	for i, p := range problems {
		out[i] = document{"path": p.Path, "error": p.Err.Error()}
	}
	return out
}

func classicHeader(f *netcdf3.File) document {
	h := f.Header()
	dims := make([][]any, len(h.Dims))
	for i, d := range h.Dims {
		dims[i] = []any{replaceInvalid([]byte(d.Name)), d.Length}
	}
	variables := make([]document, len(h.Vars))
	for i, v := range h.Vars {
		variables[i] = document{
			"name": replaceInvalid([]byte(v.Name)), "type": v.TypeCode, "dims": listed(v.DimIDs),
			"vsize": v.VSize, "begin": v.Begin,
		}
	}
	count, size := f.Records()
	doc := document{
		"version": h.Version, "numrecs": h.NumRecs, "dims": dims, "vars": variables,
		"header": h.Size, "recsize": size, "records": count,
	}
	if h.Streaming {
		doc["numrecs"] = -1
	}
	return doc
}

func classicDimensions(list []*readers.Dimension) []document {
	out := make([]document, len(list))
	for i, d := range list {
		out[i] = document{"path": d.Path, "length": d.Length, "unlimited": d.Unlimited}
	}
	return out
}

func classicAttributes(list []readers.Attribute) []document {
	out := make([]document, len(list))
	for i, a := range list {
		n := hdf5.NetCDFAttribute{Name: a.Name, Texts: a.Texts, Chars: true}
		if a.Type.Class != readers.String {
			n = hdf5.NetCDFAttribute{Name: a.Name, Number: littleName(a.Type), Count: int(a.Shape[0]), Data: a.Data}
		}
		out[i] = netcdfAttribute(n)
		out[i]["name"] = a.Name
	}
	return out
}

// littleName is the name of a type as it is in memory.
func littleName(t *readers.Type) string {
	switch {
	case t.Class == readers.String:
		return fmt.Sprintf("|S%d", t.Size)
	case t.Class == readers.Float:
		return readers.IEEEFloat(t.Size, readers.LittleEndian).String()
	}
	return readers.Int(t.Size, readers.LittleEndian, t.Signed).String()
}

// classicVariables describes variables from the header, so that long arrays of characters
// are not taken apart into texts.
func classicVariables(ctx context.Context, opts *readers.DescribeOptions, f *netcdf3.File) []document {
	out := []document{}
	h := f.Header()
	for i := range h.Vars {
		v := &h.Vars[i]
		shape, err := f.Shape(v)
		if err != nil {
			continue // among the problems
		}
		dims := make([]string, len(shape))
		for d, id := range v.DimIDs {
			dims[d] = "/" + netcdf3.CleanName(h.Dims[id].Name)
		}
		doc := document{
			"path": "/" + netcdf3.CleanName(v.Name), "dtype": littleName(v.Type), "shape": listed(shape), "dims": dims,
			"attributes": classicAttributes(v.Attributes),
		}
		if n, ok := readers.Elements(shape); opts.Values && ok && n <= maxHashedValues/uint64(v.Type.Size) {
			doc["values"] = classicValues(ctx, f, v)
		}
		out = append(out, doc)
	}
	return out
}

func classicValues(ctx context.Context, f *netcdf3.File, v *netcdf3.Var) string {
	values, err := f.Read(ctx, v, maxHashedValues)
	if err != nil {
		return "undecodable: " + err.Error()
	}
	return hashOf(values)
}
