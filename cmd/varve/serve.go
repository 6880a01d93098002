package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"varve/manifest/serve"
	"varve/manifest/store"
)

// serveOptions are the flags of the serve command.
type serveOptions struct {
	allowOptions
	listen, cert, key string
	access, logFormat string
	reload, drain     time.Duration
	connections       int
	cacheBytes        int64
}

func newServeCommand() *cobra.Command {
	var opts serveOptions
	cmd := &cobra.Command{
		Use:   "serve OUT...",
		Short: "Show virtual datasets over HTTP",
		Long: `Show manifests over HTTP: one at /, several below the names of their folders, /NAME/. Clients
of Zarr read /zarr.json and what it names; those of format 2 read /v2/; those that know
regular chunks only read /regular/. A browser sees pages. /healthz and /metrics are for
whoever watches. A snapshot that is published later is served from then on, if it extends the
one before: if whoever has that open goes on reading the same. Every snapshot has an address
of its own, /@SNAPSHOT/, as long as the manifest has it; /@newest leads to that of the newest.`,
		Example: `  varve serve sst.varve --listen 127.0.0.1:8000
  varve serve a.varve b.varve --listen unix:/run/varve.sock
  varve serve sst.varve --listen :443 --tls-cert cert.pem --tls-key key.pem`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runServe(cmd.Context(), &opts, args, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	opts.addFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&opts.listen, "listen", "127.0.0.1:8000", "`HOST:PORT` or unix:PATH; port 0 picks one")
	f.StringVar(&opts.cert, "tls-cert", "", "`file` with a certificate, for HTTPS")
	f.StringVar(&opts.key, "tls-key", "", "`file` with its key")
	f.StringVar(&opts.access, "access-log", "", "`file` for a line a request; - is standard error")
	f.StringVar(&opts.logFormat, "log-format", "text", "`format` of messages: text or json")
	f.DurationVar(&opts.reload, "reload", time.Second, "how often to look for a new snapshot, which is served if it extends the old one; 0 is never")
	f.DurationVar(&opts.drain, "drain", 30*time.Second, "how long requests under way may take when it stops")
	opts.connections = 16384
	addNumber(f, &opts.connections, 1, "connections", "connections that are open at a time")
	opts.cacheBytes = 128 << 20
	addNumber(f, &opts.cacheBytes, 0, "cache", "`bytes` of chunks that are kept in memory")
	return cmd
}

// check returns nil for flags that go together.
func (o *serveOptions) check() error {
	switch {
	case (o.cert == "") != (o.key == ""):
		return usageError{errors.New("--tls-cert and --tls-key go together")}
	case o.logFormat != "text" && o.logFormat != "json":
		return usageError{fmt.Errorf("--log-format is %q; it can be text or json", o.logFormat)}
	}
	if _, _, err := net.SplitHostPort(o.listen); err != nil && !strings.HasPrefix(o.listen, "unix:") {
		return usageError{fmt.Errorf("--listen %s: want HOST:PORT, such as 127.0.0.1:8000, or unix:PATH", o.listen)}
	}
	return nil
}

// runServe serves until it is interrupted, which is how it is meant to end.
func runServe(ctx context.Context, opts *serveOptions, names []string, out, messages io.Writer) (err error) {
	if err := opts.check(); err != nil {
		return err
	}
	access, closeAccess, err := opts.accessLog(messages)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeAccess()) }()
	log := opts.logger(messages)
	handler, err := serve.New(ctx, names, &serve.Options{Store: opts.store(), Reload: opts.reloading(), Log: log, Access: access})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, handler.Close()) }()
	server := serve.Server{Connections: opts.connections, Drain: opts.drain, Cert: opts.cert, Key: opts.key, Log: log}
	listener, name, err := server.Listen(ctx, opts.listen)
	if err != nil {
		return ownError{err}
	}
	if _, err := fmt.Fprintln(out, "listening on", name); err != nil {
		return errors.Join(err, listener.Close())
	}
	for manifest, path := range handler.Snapshots() {
		log.Info("its snapshot has an address of its own, which never leads to another", "manifest", manifest, "address", address(name, path))
	}
	return server.Serve(ctx, listener, handler)
}

// address is where a path is below the name of a listener.
func address(name, path string) string {
	if strings.HasPrefix(name, "unix:") {
		return path
	}
	return name + path
}

func (o *serveOptions) store() store.Options {
	opts := *o.storeOptions()
	if opts.CacheBytes = o.cacheBytes; o.cacheBytes == 0 {
		opts.CacheBytes = -1 // nothing, and not the default
	}
	return opts
}

// reloading is the period as the library takes it, where 0 is not never.
func (o *serveOptions) reloading() time.Duration {
	if o.reload <= 0 {
		return -1
	}
	return o.reload
}

func (o *serveOptions) logger(w io.Writer) *slog.Logger {
	if o.logFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, nil))
	}
	return slog.New(slog.NewTextHandler(w, nil))
}

// accessLog returns where requests are logged, nil for nowhere, and what closes it.
func (o *serveOptions) accessLog(messages io.Writer) (*slog.Logger, func() error, error) {
	nothing := func() error { return nil }
	switch o.access {
	case "":
		return nil, nothing, nil
	case "-":
		return o.logger(messages), nothing, nil
	}
	f, err := os.OpenFile(o.access, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666)
	if err != nil {
		return nil, nothing, ownError{err}
	}
	return o.logger(f), f.Close, nil
}
