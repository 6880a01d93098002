package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"varve/manifest/present"
	"varve/manifest/store"
	"varve/readers/source"
)

// exportSTACOptions are the flags of the export stac command.
type exportSTACOptions struct {
	allowOptions
	resultOptions
	present.STACOptions
	force  bool
	others []string
}

func newExportSTACCommand() *cobra.Command {
	var opts exportSTACOptions
	cmd := &cobra.Command{
		Use:   "stac OUT DEST.json --href URL",
		Short: "Describe a dataset for STAC catalogues",
		Long: `Write an item of STAC with the datacube extension: the extents of the coordinates in space and time,
dimensions, variables, and the URL at which clients read the dataset as Zarr, such as that of "varve
serve" or of "varve export zarr". A dataset without times needs --collection. DEST is a local file.

--also names other forms: zarr2, regular (Zarr 3 with equal chunks), kerchunk, icechunk, netcdf. Each
asset says how xarray opens it. "varve build --from" reads the document.`,
		Example: `  varve export stac sst.varve sst.json --href https://data.example.org/sst
  varve export stac sst.varve sst.json --href https://data.example.org/sst --collection
  varve export stac sst.varve sst.json --href https://host/sst --also netcdf=https://host/sst.nc`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runExportSTAC(cmd.Context(), &opts, args, cmd.OutOrStdout())
		},
	}
	opts.allowOptions.addFlags(cmd)
	f := cmd.Flags()
	opts.resultOptions.addFlags(f)
	addSnapshot(f, &opts.snapshot)
	f.StringVar(&opts.Href, "href", "", "name the dataset by this `URL`")
	f.StringArrayVar(&opts.others, "also", nil, "name the dataset in another form too: `FORM=URL`; can be repeated")
	f.StringVar(&opts.ID, "id", "", "give the item this `name` (default the name of OUT)")
	f.BoolVar(&opts.force, "force", false, "replace DEST")
	f.BoolVar(&opts.Collection, "collection", false, "write a collection instead of an item")
	return cmd
}

func runExportSTAC(ctx context.Context, opts *exportSTACOptions, args []string, out io.Writer) error {
	if opts.Href == "" {
		return usageError{errors.New("want --href URL, the address at which the dataset is read")}
	}
	for _, text := range opts.others {
		form, href, _ := strings.Cut(text, "=")
		if !slices.Contains(present.STACForms(), present.STACForm(form)) || href == "" {
			return usageError{fmt.Errorf("--also %s: want FORM=URL, where FORM is one of %v", text, present.STACForms())}
		}
		opts.Others = append(opts.Others, present.STACAsset{Form: present.STACForm(form), Href: source.Shown(href)})
	}
	if err := checkNew(ctx, args[1], opts.force); err != nil {
		return err
	}
	if opts.ID == "" {
		name := strings.TrimRight(strings.ReplaceAll(source.Shown(args[0]), `\`, "/"), "/")
		opts.ID = strings.TrimSuffix(path.Base(name), ".varve")
	}
	s, err := store.Open(ctx, args[0], opts.storeOptions())
	if err != nil {
		return err
	}
	defer s.Close()
	if err := s.CheckReplaced(ctx, args[1]); err != nil {
		return err
	}
	opts.Href = source.Shown(opts.Href) // a catalogue is public
	err = writeWhole(args[1], func(w io.Writer) error { return present.WriteSTAC(ctx, w, s, &opts.STACOptions) })
	if err != nil {
		return exportError(ctx, err)
	}
	kind := "item"
	if opts.Collection {
		kind = "collection"
	}
	doc := struct {
		Dest string `json:"dest"`
		Kind string `json:"kind"`
	}{args[1], kind}
	return opts.print(out, doc, fmt.Sprintf("%s: a STAC %s of %s\n", args[1], kind, args[0]))
}
