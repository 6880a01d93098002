package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"varve/manifest"
	"varve/manifest/serve"
	"varve/zarrjson/clients"
)

// viewJSON is what clients read of a view.
type viewJSON struct {
	View    string        `json:"view"`
	Omitted items[string] `json:"omitted"` // arrays that the view leaves out
	Clients []clientJSON  `json:"clients"`
}

type clientJSON struct {
	Name    string              `json:"name"`
	Version string              `json:"version"`
	Reads   items[string]       `json:"reads"`
	Lacks   map[string][]string `json:"lacks"` // features, by the array that needs them
}

// clientsOf returns what each client reads of each view.
func clientsOf(arrays []manifest.Array) ([]viewJSON, error) {
	views, err := serve.Views(arrays)
	if err != nil {
		return nil, err
	}
	table := clients.Known()
	var out []viewJSON
	for _, v := range views {
		view := viewJSON{View: v.Path, Omitted: v.Omitted}
		for _, c := range table.Clients {
			client := clientJSON{Name: c.Name, Version: c.Version, Lacks: map[string][]string{}}
			for _, a := range v.Arrays {
				lacks := table.Lacks(c.Name, a.Features)
				if len(lacks) == 0 {
					client.Reads = append(client.Reads, a.Path)
				}
				for _, f := range lacks {
					client.Lacks[a.Path] = append(client.Lacks[a.Path], string(f))
				}
			}
			view.Clients = append(view.Clients, client)
		}
		out = append(out, view)
	}
	return out, nil
}

// printClients writes a table of views and clients, and below it what clients lack.
func printClients(out io.Writer, views []viewJSON) error {
	fmt.Fprintln(out, "arrays that clients read, by the view of \"varve serve\":")
	table := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	for i, v := range views {
		if i == 0 {
			fmt.Fprint(table, "  view")
			for _, c := range v.Clients {
				fmt.Fprintf(table, "\t%s %s", c.Name, c.Version)
			}
			fmt.Fprintln(table)
		}
		fmt.Fprintf(table, "  %s", v.View)
		for _, c := range v.Clients {
			fmt.Fprintf(table, "\t%s", howMany(len(c.Reads), len(c.Reads)+len(c.Lacks)+len(v.Omitted)))
		}
		fmt.Fprintln(table)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, v := range views {
		if len(v.Omitted) > 0 {
			fmt.Fprintf(out, "  %s leaves out %s\n", v.View, strings.Join(v.Omitted, ", "))
		}
	}
	for i, c := range views[0].Clients {
		lacks := map[string]bool{}
		for _, v := range views {
			for _, features := range v.Clients[i].Lacks {
				for _, f := range features {
					lacks[nameOf(clients.Feature(f), c.Name)] = true
				}
			}
		}
		if len(lacks) > 0 {
			fmt.Fprintf(out, "  %s does not read: %s\n", c.Name, strings.Join(slices.Sorted(maps.Keys(lacks)), ", "))
		}
	}
	_, err := fmt.Fprintln(out)
	return err
}

// nameOf returns the name of a feature that a client lacks, or the format of a client that reads nothing in it.
func nameOf(f clients.Feature, client string) string {
	format, name, _ := strings.Cut(string(f), " ")
	if clients.Known().ReadsFormat(client, format) {
		return name
	}
	return "format " + format
}

func howMany(n, of int) string {
	switch n {
	case of:
		return "all"
	case 0:
		return "none"
	}
	return fmt.Sprintf("%d of %d", n, of)
}
