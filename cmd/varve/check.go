package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"varve/manifest"
	"varve/manifest/ingest"
	"varve/manifest/report"
	"varve/manifest/report/text"
	"varve/zarrjson"
)

// checkOptions are the flags of the check command.
type checkOptions struct {
	combineOptions
	json, clients bool
	html          string
	format        string
}

func newCheckCommand() *cobra.Command {
	var opts checkOptions
	cmd := &cobra.Command{
		Use:   "check SRC...",
		Short: "Say what build would do, and write nothing",
		Long: `Say what "varve build" would make of files: the arrays and their chunks, every difference
between the files, and how many chunks are served verbatim.

` + sourcesHelp,
		Example: `  varve check archive/ --match '*.nc'
  varve check archive/ --html report.html
  varve check archive/ --clients
  varve check archive/ --format github
  varve check archive/ --json | jq '.findings[] | select(.effect == "refused")'`,
		Args: sourceArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runCheck(cmd, &opts, args)
		},
	}
	opts.addSourceFlags(cmd.Flags())
	opts.addPlanFlags(cmd.Flags())
	opts.addKeepScan(cmd.Flags())
	cmd.Flags().BoolVar(&opts.json, "json", false, "print one JSON document")
	cmd.Flags().StringVar(&opts.format, "format", "text", "print `text`, or github: annotations of GitHub Actions")
	cmd.MarkFlagsMutuallyExclusive("json", "format")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(words(checkFormats), cobra.ShellCompDirectiveNoFileComp))
	cmd.Flags().BoolVar(&opts.clients, "clients", false, "say which Zarr clients read which arrays, and in which view of the server")
	cmd.Flags().StringVar(&opts.html, "html", "", "write an HTML report to this `file`")
	return cmd
}

// checkFormats are the values of --format, and write what check found.
var checkFormats = map[string]func(w io.Writer, o *ingest.Result, withClients bool) error{"text": checkText, "github": checkGitHub}

func runCheck(cmd *cobra.Command, opts *checkOptions, names []string) error {
	write := checkJSON
	if !opts.json {
		if err := choose(&write, "format", opts.format, checkFormats); err != nil {
			return usageError{err}
		}
	}
	if err := opts.takeFiles(cmd); err != nil {
		return err
	}
	if opts.html != "" {
		if err := checkNoData(cmd.Context(), opts.html); err != nil {
			return err
		}
	}
	how, err := opts.options(names, cmd.InOrStdin())
	if err != nil {
		return err
	}
	how.Pictures = opts.html != ""
	shown := newProgress(cmd.ErrOrStderr(), opts.quiet)
	how.Progress, how.Comparing = shown.update, shown.then("comparing", "variables")
	outcome, failed := ingest.Check(cmd.Context(), how)
	shown.finish()
	if failed != nil {
		opts.sayKept(cmd.ErrOrStderr(), shown.spent())
	}
	if outcome == nil {
		return interrupted(cmd.Context(), failed)
	}
	if opts.html != "" {
		if err := writeWhole(opts.html, func(w io.Writer) error { return checkHTML(w, outcome) }); err != nil {
			return err
		}
	}
	if err := write(cmd.OutOrStdout(), outcome, opts.clients); err != nil {
		return err
	}
	return alreadyPrinted(failed)
}

func checkText(out io.Writer, o *ingest.Result, withClients bool) error {
	if o.Snapshot != nil {
		fmt.Fprintf(out, "%s, %s\n\n", countSources(o.Snapshot), countArrays(o.Snapshot))
		if err := printArrays(out, o.Snapshot.Arrays); err != nil {
			return err
		}
		fmt.Fprintf(out, "\nexports: %s\n", possibleExports(o.Snapshot))
		if r := o.Reading; r.Requests > 0 {
			fmt.Fprintf(out, "reading: %s, %s, %s; a build reads the same\n",
				plural(r.Requests, "request", "requests"), report.Size(r.Bytes), r.Time.Round(time.Second/10))
		}
		fmt.Fprintln(out)
		if withClients {
			views, err := clientsOf(o.Snapshot.Arrays)
			if err == nil {
				err = printClients(out, views)
			}
			if err != nil {
				return err
			}
		}
	}
	return printer.Report(out, o.Report.Findings)
}

// possibleExports lists the export formats that can hold a snapshot.
func possibleExports(snap *manifest.Snapshot) string {
	if err := snap.CheckNames(); err != nil {
		return "table; no other: " + strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	return "kerchunk" + kerchunkNeeds(snap.Arrays) + ", icechunk, zarr, table"
}

// kerchunkNeeds returns the Zarr format that references need: format 2 has regular grids only.
func kerchunkNeeds(arrays []manifest.Array) string {
	for i := range arrays {
		if arrays[i].Schema.ChunkGrid.Name == zarrjson.Rectilinear {
			return " (in format 3, since " + arrays[i].Path + " has chunks of several lengths; --regular re-encodes it with equal chunks)"
		}
	}
	return ""
}

func checkJSON(out io.Writer, o *ingest.Result, withClients bool) error {
	doc := struct {
		Arrays   []arrayJSON  `json:"arrays"`
		Findings findingsJSON `json:"findings"`
		Reading  *readingJSON `json:"reading,omitempty"`
		Sources  []string     `json:"sources,omitempty"`
		Views    []viewJSON   `json:"views,omitempty"`
	}{Arrays: []arrayJSON{}, Findings: o.Report.Findings}
	if slices.ContainsFunc(doc.Findings, func(f report.Finding) bool { return f.Files.InRanges() }) {
		doc.Sources = o.Report.Sources.Names()
	}
	if r := o.Reading; r.Requests > 0 {
		doc.Reading = &readingJSON{r.Requests, r.Bytes, r.Time.Seconds()}
	}
	if o.Snapshot != nil {
		var err error
		if doc.Arrays, err = arraysJSON(o.Snapshot.Arrays); err != nil {
			return err
		}
		if withClients {
			if doc.Views, err = clientsOf(o.Snapshot.Arrays); err != nil {
				return err
			}
		}
	}
	return printJSON(out, doc)
}

// readingJSON says how much check read from servers. A build reads the same.
type readingJSON struct {
	Requests int64   `json:"requests"`
	Bytes    int64   `json:"bytes"`
	Seconds  float64 `json:"seconds"`
}

func printJSON(out io.Writer, doc any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(doc)
}

// checkHTML writes one page that needs nothing else.
func checkHTML(w io.Writer, o *ingest.Result) error {
	page := &text.Page{Title: "varve check", Summary: "The files cannot be combined as asked.", Findings: o.Report.Findings, Style: ingest.PictureStyle}
	if o.Snapshot == nil {
		return printer.Page(w, page)
	}
	page.Summary = countSources(o.Snapshot) + ", " + countArrays(o.Snapshot)
	for i := range o.Snapshot.Arrays {
		a := &o.Snapshot.Arrays[i]
		g, err := a.Schema.Grid()
		if err != nil {
			return err
		}
		shown := text.PageArray{Path: a.Path, Shape: dimsText(a), Type: a.Schema.DataType.Name(), Chunks: edges(g, a.Schema.Dims()),
			Codecs: codecsText(a), Served: served(a), Picture: o.Pictures[a.Path]}
		page.Arrays = append(page.Arrays, shown)
	}
	return printer.Page(w, page)
}
