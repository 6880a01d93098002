package main

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"varve/readers/source"
)

// addFetch declares the flags of all commands that open sources.
func addFetch(f *pflag.FlagSet, download *bool) {
	f.BoolVar(download, "download", false, "fetch whole files from servers that do not support range requests")
	f.String("access", "", "take credentials from this YAML `file`, not from VARVE_ACCESS or the config folder")
	f.StringArray("header", nil, "send this `header` to the servers of all http:// and https:// sources: 'NAME: VALUE'")
	f.String("bearer-file", "", "send the token in this `file` to the servers of all http:// and https:// sources")
}

// useAccess makes the flags of addFetch apply to all sources that the process opens.
func useAccess(cmd *cobra.Command) error {
	f := cmd.Flags()
	if f.Lookup("access") == nil || !f.Changed("access") && !f.Changed("header") && !f.Changed("bearer-file") {
		return nil
	}
	// The flags are declared above, so reading them cannot fail.
	name, _ := f.GetString("access")
	headers, _ := f.GetStringArray("header")
	bearer, _ := f.GetString("bearer-file")
	load := source.UserAccess
	if f.Changed("access") {
		load = func() (*source.Access, error) { return source.LoadAccess(name) }
	}
	a, err := load()
	if err != nil {
		return usageError{err}
	}
	if a, err = a.With(headers, bearer); err != nil {
		return usageError{err}
	}
	source.SetDefaultAccess(a)
	return nil
}
