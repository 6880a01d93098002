package ingest

import (
	"slices"

	"varve/manifest"
	"varve/manifest/report"
)

// addCosts sets the cost of each finding that re-encodes chunks, after the chunks are counted.
func addCosts(findings []report.Finding, arrays []manifest.Array) {
	byPath := make(map[string]*manifest.Array, len(arrays))
	for i := range arrays {
		byPath[arrays[i].Path] = &arrays[i]
	}
	causes := map[string][]*report.Finding{} // by array: findings that re-encode its chunks
	for i := range findings {
		f := &findings[i]
		if f.Effect == report.Reencoded {
			for _, path := range arraysOf(f, arrays) {
				causes[path] = append(causes[path], f)
			}
		}
	}
	for i := range findings {
		f := &findings[i]
		if f.Effect != report.Reencoded {
			continue
		}
		total := &report.Cost{}
		for _, path := range arraysOf(f, arrays) {
			if a := byPath[path]; a != nil && a.Chunks.Reencoded > 0 {
				addCost(total, a, f, causes[path])
			}
		}
		if total.Reencoded > 0 {
			f.Cost = total
		}
	}
}

// arraysOf returns the paths of the arrays that a finding is about.
func arraysOf(f *report.Finding, arrays []manifest.Array) (paths []string) {
	if f.Code == report.Flipped || f.Code == report.LongitudesMoved { // of a coordinate, and about all arrays with its dimension
		for i := range arrays {
			if a := &arrays[i]; a.Placement != "" && slices.Contains(a.Dims, f.Array) {
				paths = append(paths, a.Path)
			}
		}
		return paths
	}
	if f.Array != "" {
		return []string{f.Array}
	}
	return f.Arrays
}

// addCost adds the cost of a finding for one array. causes are all findings that re-encode its
// chunks.
func addCost(total *report.Cost, a *manifest.Array, f *report.Finding, causes []*report.Finding) {
	c := a.Chunks
	all := c.Verbatim + c.Prefix + c.Reencoded
	without := int64(0)
	var odd report.Files
	for _, other := range causes {
		switch {
		case other == f:
		case concernsAllFiles(other.Code) && a.Reading != manifest.Repacked:
			without = c.Reencoded
		default:
			odd = odd.Union(other.Files)
		}
	}
	// Files have similar numbers of chunks, so the share of files estimates the share of chunks.
	if without == 0 && f.Of > 0 {
		without = min(c.Reencoded, (all*odd.Len()+f.Of-1)/f.Of)
	}
	total.Verbatim += c.Verbatim + c.Prefix
	total.Reencoded += c.Reencoded
	total.ReencodedWithout += without
	total.VerbatimWithout += all - without
	size := int64(a.Schema.DataType.Type().Size)
	for _, n := range a.Schema.Shape {
		size *= n
	}
	if chunks := all + c.Missing; chunks > 0 {
		total.ExportBytes += int64(float64(size) * float64(c.Reencoded) / float64(chunks))
	}
	// One finding may cover arrays with several types.
	if name := a.Schema.DataType.Name(); total.DataType == "" {
		total.DataType = name
	} else if total.DataType != name {
		total.DataType = "several types"
	}
}

// concernsAllFiles reports whether a finding re-encodes the chunks of all files, and not only of
// the odd ones, because no file has the declared type or codec. If values are repacked, files have both.
func concernsAllFiles(code report.Code) bool {
	return slices.Contains([]report.Code{report.PackingDiffers, report.TypesDiffer, report.MissingDiffers, report.FillNeedsType, report.PrecisionLost,
		report.TimeUnitsDiffer, report.CalendarsConverted, report.CodecsUnsupported, report.CodecsInexact}, code)
}
