package plantest

import (
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"varve/manifest/plan"
	"varve/manifest/report"
)

// SetOption sets an option of "varve build" that concerns the plan.
func SetOption(opts *plan.Options, name, value string) (err error) {
	switch report.Option(name) {
	case "rectilinear":
		opts.Rectilinear = true
	case "strict":
		opts.Strict = true
	case "group":
		opts.Group = value
	case "codec-from":
		opts.CodecFrom = value
	case "vars":
		opts.Vars = append(slices.Clone(opts.Vars), value)
	case "apart":
		opts.Apart = append(slices.Clone(opts.Apart), value)
	case "inline":
		var n int64
		n, err = strconv.ParseInt(value, 10, 64)
		opts.Inline = &n
	case "chunk-edges": // ARRAY:DIM=N,N
		array, rest, _ := strings.Cut(value, ":")
		dim, list, _ := strings.Cut(rest, "=")
		var lengths []int64
		lengths, err = parseShape(strings.ReplaceAll(list, ",", "x"))
		opts.Schemas = append(slices.Clone(opts.Schemas), plan.Override{Array: array, Chunks: map[string][]int64{dim: lengths}})
	case report.Concat:
		opts.Concat, err = appendList(opts.Concat, value)
	case report.Drop:
		opts.Drop, err = appendList(opts.Drop, value)
	case report.Coords:
		opts.Coords = plan.Coords(value)
	case report.KeepForeign:
		opts.KeepForeign = true
	case report.Padded:
		opts.Padded = true
	case report.Units:
		opts.Units = plan.Units(value)
	case report.JoinLabels:
		dim, how, bad := plan.ParseJoin(value)
		opts.Join, err = map[string]plan.Join{dim: how}, bad
	case report.Pad:
		opts.Pad = plan.Pad(value)
	case report.Overlap:
		opts.Overlap = plan.Overlap(value)
	case report.Missing:
		if opts.Missing = plan.Absent(value); value == "fill" {
			opts.Missing = plan.AbsentFill
		}
	case report.Tolerance:
		opts.Tolerance, err = strconv.ParseFloat(value, 64)
	case report.Longitudes:
		opts.Longitudes = plan.Longitudes(value)
	case report.Flip:
		dim, to, bad := plan.ParseFlip(value)
		opts.Flip, err = map[string]plan.Direction{dim: to}, bad
	case report.ValueBytes:
		opts.ValueBytes, err = strconv.ParseInt(value, 10, 64)
	case report.Rename:
		var r plan.Rename
		r, err = plan.ParseRename(value)
		opts.Rename = append(slices.Clone(opts.Rename), r)
	case report.Repack:
		var r plan.Repack
		r, err = plan.ParseRepack(value)
		opts.Repack = append(slices.Clone(opts.Repack), r)
	case report.Broadcast:
		var b plan.Broadcast
		b, err = plan.ParseBroadcast(value)
		opts.Broadcast = append(slices.Clone(opts.Broadcast), b)
	case report.NewDim:
		var d plan.NewDim
		d, _, err = plan.ParseNewDim(value)
		opts.NewDims = append(slices.Clone(opts.NewDims), d)
	case report.DataType:
		array, name, _ := strings.Cut(value, "=")
		opts.Schemas = append(slices.Clone(opts.Schemas), plan.Override{Array: array, Type: name})
	default:
		err = errors.New("the option is not known here")
	}
	if err != nil {
		return fmt.Errorf("option %s: %w", name, err)
	}
	return nil
}

// appendList appends the values of a list with commas.
func appendList(to []string, value string) ([]string, error) {
	list, err := csv.NewReader(strings.NewReader(value)).Read()
	return append(slices.Clone(to), list...), err
}
