package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"varve/manifest/mount"
	"varve/manifest/netcdffile"
	"varve/manifest/serve"
)

// mountOptions are the flags of the mount command.
type mountOptions struct {
	allowOptions
	cacheBytes int64
	reload     time.Duration
	netcdf     netcdfOptions
	allowOther bool
}

// netcdfOptions are the flags of commands that present datasets as netCDF files.
type netcdfOptions struct {
	filters string
	classic bool
}

func (o *netcdfOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.filters, "filters", "builtin", "in netCDF files, keep chunks with these `filters`: builtin, or any, which may need plugins")
	f.BoolVar(&o.classic, "classic", false, "make netCDF files of the classic model, for programs without HDF5")
}

func (o *netcdfOptions) parse() (netcdffile.Options, error) {
	if o.filters != "builtin" && o.filters != "any" {
		return netcdffile.Options{}, usageError{fmt.Errorf("--filters %s: want builtin or any", o.filters)}
	}
	return netcdffile.Options{Classic: o.classic, Plugins: o.filters == "any"}, nil
}

func newMountCommand() *cobra.Command {
	var opts mountOptions
	cmd := &cobra.Command{
		Use:   "mount OUT... DIR",
		Short: "Show virtual datasets in a folder, as netCDF and Zarr files (Linux)",
		Long: `Show manifests in the folder DIR, for programs that read only files. NAME is the name of the
manifest's folder.

  DIR/NAME.nc       the dataset as one netCDF-4 file
  DIR/NAME.zarr/    the same as Zarr 3
  DIR/@SNAPSHOT/    both, of one snapshot

Nothing is copied: bytes are made when a program reads them, and all is read only. After an append
the names lead to new files; a program that has a file open reads on in the old snapshot. If a
source cannot be read, the program gets an input/output error, and a message here names the source.

The command prints "mounted DIR" when it is ready. It unmounts DIR on SIGTERM. If it was killed,
the next one cleans up. Other systems than Linux: use varve serve, which has /NAME.nc.`,
		Example: `  varve mount sst.varve /mnt/data
  varve mount a.varve b.varve /mnt/data --allow-other`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runMount(cmd.Context(), &opts, args[:len(args)-1], args[len(args)-1], cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	opts.addFlags(cmd)
	f := cmd.Flags()
	opts.netcdf.addFlags(f)
	opts.cacheBytes = 256 << 20
	addNumber(f, &opts.cacheBytes, 0, "cache", "cache this number of `bytes` of decoded chunks in memory")
	f.DurationVar(&opts.reload, "reload", time.Second, "check for a new snapshot at this `interval`; 0 means never")
	f.BoolVar(&opts.allowOther, "allow-other", false, "let other users read the folder too")
	return cmd
}

// mountPatience is how long a read waits while others decode: programs do not ask again.
const mountPatience = 10 * time.Minute

// runMount shows manifests until a signal ends it, which is not an error.
func runMount(ctx context.Context, opts *mountOptions, names []string, dir string, out, messages io.Writer) (err error) {
	log := slog.New(slog.NewTextHandler(messages, nil))
	so := serveOptions{allowOptions: opts.allowOptions, cacheBytes: opts.cacheBytes, reload: opts.reload}
	o := serve.Options{Store: so.store(), Reload: so.reloading(), Patience: mountPatience, Log: log}
	if o.NetCDF, err = opts.netcdf.parse(); err != nil {
		return err
	}
	handler, err := serve.New(ctx, names, &o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, handler.Close()) }()
	if dir, err = filepath.Abs(dir); err != nil {
		return ownError{err}
	}
	m, err := mount.Mount(dir, &mount.Options{Handler: handler, AllowOther: opts.allowOther, Log: log})
	if err != nil {
		return ownError{err}
	}
	if _, err := fmt.Fprintln(out, "mounted", dir); err != nil {
		return err
	}
	finishesRequests.Store(true)
	return m.Wait(ctx)
}
