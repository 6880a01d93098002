package main

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"varve/manifest/export/zarr"
	"varve/manifest/report"
)

// copyPlan is the JSON document of export zarr --dry-run.
type copyPlan struct {
	Memory int64            `json:"memory"`
	Arrays items[arrayPlan] `json:"arrays"`
}

type arrayPlan struct {
	Array     string  `json:"array"`
	Chunks    []int64 `json:"chunks"`
	Bytes     int64   `json:"bytes"`
	Passes    int     `json:"passes"`
	Decodes   float64 `json:"decodes"`
	Direct    float64 `json:"decodes_in_one_pass"`
	Temporary int64   `json:"temporary_bytes"`
	Blocks    int64   `json:"blocks"`
}

func planOf(p *zarr.Plan) copyPlan {
	doc := copyPlan{Memory: p.Memory * memoryShare}
	for _, a := range p.Arrays {
		doc.Arrays = append(doc.Arrays, arrayPlan{a.Array, a.Chunks, a.Size, a.Passes, a.Decodes, a.Direct, a.Temporary, a.Blocks})
	}
	return doc
}

// describePlan returns the lines of a plan: of all arrays, or only of those whose stored chunks are decoded more than once or in
// two passes.
func (o *exportZarrOptions) describePlan(p *zarr.Plan, all bool) string {
	var b strings.Builder
	temporary := int64(0)
	for _, a := range p.Arrays {
		if !all && a.Passes < 2 && a.Decodes <= 1 {
			continue
		}
		fmt.Fprintf(&b, "%s (%s, chunks of %s): ", a.Array, report.Size(a.Size), product(a.Chunks))
		switch {
		case a.Passes == 0:
			b.WriteString("chunks are copied as they are\n")
		case a.Passes == 1 && a.Decodes <= 1:
			b.WriteString("1 pass, each stored chunk is decoded once\n")
		case a.Passes == 1:
			fmt.Fprintf(&b, "1 pass, stored chunks are decoded %.1f times\n", a.Decodes)
		default:
			fmt.Fprintf(&b, "2 passes, each stored chunk is decoded once (in 1 pass %.1f times), %s of temporary blocks\n", a.Direct, report.Size(a.Temporary))
		}
		temporary = max(temporary, a.Temporary)
	}
	if temporary > 0 {
		fmt.Fprintf(&b, "temporary space: up to %s in %s (--temp); memory: %s (--memory)\n", report.Size(temporary), cmp.Or(o.Temporary, os.TempDir()), report.Size(p.Memory*memoryShare))
	}
	return b.String()
}

// product returns lengths as 10 × 20 × 30.
func product(lengths []int64) string {
	text := make([]string, len(lengths))
	for i, n := range lengths {
		text[i] = fmt.Sprint(n)
	}
	return strings.Join(text, " × ")
}
