package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"varve/manifest/export/gdalvrt"
	"varve/manifest/store"
)

// exportGDALVRTOptions are the flags of the export gdal-vrt command.
type exportGDALVRTOptions struct {
	allowOptions
	partOptions
	resultOptions
	force, relative bool
}

func newExportGDALVRTCommand() *cobra.Command {
	var opts exportGDALVRTOptions
	cmd := &cobra.Command{
		Use:   "gdal-vrt OUT DEST.vrt",
		Short: "Write a multidimensional VRT for GDAL",
		Long: `Write a multidimensional VRT: an XML file by which GDAL reads the arrays of netCDF and HDF5 files
as one dataset. Nothing is copied. GDAL 3.7 or newer reads the files itself, without varve.

Arrays whose values in the files differ from those of OUT, for example in packing or units, are
written with their values if they have at most 65,536 elements. Else they are left out, and the output
says why. DEST is a local file. With --relative, the VRT and the files can be moved together.`,
		Example: `  varve export gdal-vrt sst.varve sst.vrt
  varve export gdal-vrt sst.varve sst.vrt --relative`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runExportGDALVRT(cmd.Context(), &opts, args, cmd.OutOrStdout())
		},
	}
	opts.allowOptions.addFlags(cmd)
	f := cmd.Flags()
	opts.resultOptions.addFlags(f)
	addSnapshot(f, &opts.snapshot)
	f.BoolVar(&opts.force, "force", false, "replace DEST")
	f.BoolVar(&opts.relative, "relative", false, "name local files relative to the folder of DEST")
	opts.partOptions.addFlags(cmd)
	return cmd
}

func runExportGDALVRT(ctx context.Context, opts *exportGDALVRTOptions, args []string, out io.Writer) error {
	if err := checkNew(ctx, args[1], opts.force); err != nil {
		return err
	}
	s, err := store.Open(ctx, args[0], opts.storeOptions())
	if err != nil {
		return err
	}
	defer s.Close()
	if s, err = opts.cut(ctx, s); err != nil {
		return err
	}
	if err := s.CheckReplaced(ctx, args[1]); err != nil {
		return err
	}
	var how gdalvrt.Options
	if opts.relative {
		path, err := filepath.Abs(args[1])
		if err != nil {
			return err
		}
		how.Folder = filepath.Dir(path)
	}
	var r *gdalvrt.Result
	err = writeWhole(args[1], func(w io.Writer) (err error) {
		r, err = gdalvrt.Write(ctx, w, s, &how)
		return err
	})
	if err != nil {
		return exportError(ctx, err)
	}
	doc := struct {
		Dest    string                  `json:"dest"`
		Arrays  int                     `json:"arrays"`
		Inline  int                     `json:"inline"`
		Sources int64                   `json:"sources"`
		Assumed items[string]           `json:"assumed"`
		Omitted items[gdalvrt.Omission] `json:"omitted"`
	}{args[1], r.Arrays, r.Inline, r.Sources, r.Assumed, r.Omitted}
	return opts.print(out, doc, describeVRT(args[1], r))
}

func describeVRT(dest string, r *gdalvrt.Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %d with values, %s of arrays in files\n", dest, plural(int64(r.Arrays), "array", "arrays"), r.Inline, plural(r.Sources, "part", "parts"))
	describeAssumed(&b, r.Assumed)
	for _, o := range r.Omitted[:min(shownOmitted, len(r.Omitted))] {
		if o.Part == gdalvrt.System {
			fmt.Fprintf(&b, "  without a coordinate reference system: %s: %s\n", o.Path, o.Why)
		} else {
			fmt.Fprintf(&b, "  left out: %s: %s\n", o.Path, o.Why)
		}
	}
	if more := len(r.Omitted) - shownOmitted; more > 0 {
		fmt.Fprintf(&b, "  and %d more: see --json\n", more)
	}
	return b.String()
}
