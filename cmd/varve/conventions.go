package main

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"varve/manifest/conventions"
)

// addConventions adds the flag by which users ask for conventions of Zarr.
func addConventions(f *pflag.FlagSet, to *[]string) {
	f.StringSliceVar(to, "conventions", nil, "describe grids by these `conventions`: spatial, proj, multiscales, or all of these; gdal")
}

// parseConventions returns the conventions of the flag.
func parseConventions(names []string) (conventions.Set, error) {
	set, err := conventions.Parse(names)
	if err != nil {
		return nil, fmt.Errorf("--conventions %w", err)
	}
	return set, nil
}

// conventionsJSON is what conventions describe, in the output of a command.
type conventionsJSON struct {
	Arrays  int                         `json:"arrays"`
	Groups  int                         `json:"groups"`
	Assumed items[string]               `json:"assumed"`
	Omitted items[conventions.Omission] `json:"omitted"`
}

func conventionsOf(d *conventions.Description) conventionsJSON {
	return conventionsJSON{len(d.Arrays), len(d.Groups), d.Assumed, d.Omitted}
}

// shownOmitted limits the arrays that a command names with the reason why something of them is left out.
const shownOmitted = 10

// describeAssumed names the arrays whose longitudes and latitudes are taken as WGS 84.
func describeAssumed(b *strings.Builder, paths []string) {
	if len(paths) == 0 {
		return
	}
	fmt.Fprintf(b, "  WGS 84 is assumed, because there is no grid mapping: %s", strings.Join(paths[:min(shownOmitted, len(paths))], ", "))
	if more := len(paths) - shownOmitted; more > 0 {
		fmt.Fprintf(b, " and %d more", more)
	}
	b.WriteString("\n")
}

// describeConventions returns the lines about arrays and groups with descriptions, and about those that have none, with the reasons.
func describeConventions(asked conventions.Set, d *conventions.Description) string {
	if len(asked) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "described by %s: %s", asked, plural(int64(len(d.Arrays)), "array", "arrays"))
	if len(d.Groups) > 0 {
		fmt.Fprintf(&b, ", %s", plural(int64(len(d.Groups)), "group with levels", "groups with levels"))
	}
	b.WriteString("\n")
	describeAssumed(&b, d.Assumed)
	for _, o := range d.Omitted[:min(shownOmitted, len(d.Omitted))] {
		fmt.Fprintf(&b, "  not %s: %s: %s\n", o.Convention, o.Path, o.Why)
	}
	if more := len(d.Omitted) - shownOmitted; more > 0 {
		fmt.Fprintf(&b, "  and %d more: see --json\n", more)
	}
	return b.String()
}
