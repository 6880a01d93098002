package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"varve/manifest/present"
	"varve/manifest/serve"
	"varve/manifest/store"
)

// serveOptions are the flags of the serve command.
type serveOptions struct {
	allowOptions
	listen, base      string
	cert, key         string
	clientCA, tokens  string
	proxied           bool
	perClient         int
	access, logFormat string
	reload, drain     time.Duration
	follow            string
	connections       int
	cacheBytes        int64
	diskCache         string
	diskCacheSize     string
	maxAnswer         string
	padded            bool
	subChunks         []string
	conventions       []string
	netcdf            netcdfOptions
}

func newServeCommand() *cobra.Command {
	var opts serveOptions
	cmd := &cobra.Command{
		Use:   "serve OUT...",
		Short: "Serve virtual datasets over HTTP, as Zarr and OPeNDAP",
		Long: `Serve manifests over HTTP as Zarr and OPeNDAP, with pages for browsers. One manifest is at /, several are at
/NAME/, by the names of their folders.

  /zarr.json    Zarr 3
  /v2/          Zarr 2, for arrays with regular chunk grids
  /regular/     Zarr 3, with irregular arrays re-encoded to regular chunks
  /core/        the same with core codecs only, for GDAL, TensorStore and other clients
  /dap/NAME     OPeNDAP, DAP2 and DAP4: ncdump http://HOST/dap/NAME; /catalog.xml lists all for THREDDS clients
  /ARRAY?as=csv a part as csv, json, npy or nc: &time=2010-01/2010-03&lat=45:55&isel.lon=3
  /@SNAPSHOT/   one snapshot; this address never changes
  /@newest      a redirect to the newest snapshot
  /NAME.nc      the dataset as one netCDF-4 file; NAME is the name of the folder
  /stac.json    a STAC collection of a manifest; /catalog.json links to all collections
  /healthz      200, or 503 while the server stops; JSON says whether it is degraded, and why
  /metrics      Prometheus metrics

A new snapshot is served from / as soon as it is published, if it extends the served one. If
not, clients that are open would read wrong chunks: the server keeps the old snapshot and logs why.
With --follow always it serves each new snapshot: clients that stay open then read other steps
than they asked for. Pages, /@newest and /@SNAPSHOT/ are safe, for they name one snapshot.

With --sub-chunks a client that needs one point of a large chunk transfers and decodes only a small
chunk, which the server makes. Run "varve index" first: then it decodes only a part of the stored chunk.

With --conventions, attributes describe where the cells of grids are, as in "varve export zarr".

The command prints "listening on URL" when it is ready, and stops on SIGTERM.`,
		Example: `  varve serve sst.varve --listen 127.0.0.1:8000
  varve serve a.varve b.varve --listen unix:/run/varve.sock
  varve serve sst.varve --listen :443 --tls-cert cert.pem --tls-key key.pem
  varve serve sst.varve --sub-chunks auto
  varve serve sst.varve --base /sst --proxied --token-file tokens.txt --per-client 64`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return runServe(cmd.Context(), &opts, args, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	opts.addFlags(cmd)
	f := cmd.Flags()
	addPadded(f, &opts.padded)
	f.StringVar(&opts.listen, "listen", "127.0.0.1:8000", "listen on `HOST:PORT`, unix:PATH, or systemd: for a socket of systemd; port 0 chooses a free port")
	f.StringVar(&opts.base, "base", "", "serve below this `path`, such as /archive, which a proxy in front must not remove")
	f.StringVar(&opts.cert, "tls-cert", "", "serve HTTPS with this certificate `file`, in PEM")
	f.StringVar(&opts.key, "tls-key", "", "use this private key `file`, in PEM")
	f.StringVar(&opts.clientCA, "tls-client-ca", "", "want certificates of clients, signed by an authority in this `file`, in PEM")
	f.StringVar(&opts.tokens, "token-file", "", "want a token of this `file`, which has a name and a token on each line")
	f.BoolVar(&opts.proxied, "proxied", false, "believe the headers X-Forwarded-For, -Proto and -Host of a proxy in front")
	addNumber(f, &opts.perClient, 0, "per-client", "answer this `number` of requests of one client at once; 0 means no limit")
	f.StringVar(&opts.access, "access-log", "", "append a line for each request to this `file`; - is standard error")
	f.StringVar(&opts.logFormat, "log-format", "text", "write messages in this `format`: text or json")
	f.DurationVar(&opts.reload, "reload", time.Second, "check for a new snapshot at this `interval`; 0 means never")
	f.StringVar(&opts.follow, "follow", "append", "serve a new snapshot if it extends the served one (`append`), or always")
	f.DurationVar(&opts.drain, "drain", 30*time.Second, "let running requests finish for this `time` after SIGTERM")
	opts.connections = 16384
	addNumber(f, &opts.connections, 1, "connections", "accept this `number` of connections at once")
	f.StringArrayVar(&opts.subChunks, "sub-chunks", nil, "serve smaller chunks: `ARRAY=SHAPE`, or auto for all arrays with access points")
	addConventions(f, &opts.conventions)
	opts.netcdf.addFlags(f)
	opts.cacheBytes = 128 << 20
	addNumber(f, &opts.cacheBytes, 0, "cache", "cache this number of `bytes` of chunks in memory")
	f.StringVar(&opts.diskCache, "disk-cache", "", "keep chunks that were downloaded or re-encoded in this `folder`, which no other server uses")
	f.StringVar(&opts.diskCacheSize, "disk-cache-size", "10GiB", "keep at most this `size` there: bytes, or with KiB, MiB, GiB, TiB")
	f.StringVar(&opts.maxAnswer, "max-answer", "2GiB", "refuse larger answers of OPeNDAP and subsets: bytes, or with KiB, MiB, GiB, TiB")
	return cmd
}

// check returns an error if the flags contradict each other.
func (o *serveOptions) check() error {
	switch {
	case (o.cert == "") != (o.key == ""):
		return usageError{errors.New("want both --tls-cert and --tls-key, or neither")}
	case o.clientCA != "" && o.cert == "":
		return usageError{errors.New("--tls-client-ca needs --tls-cert and --tls-key")}
	case !slices.Contains(wordsOfFlags()["follow"], o.follow):
		return usageError{fmt.Errorf("--follow %s: want append or always", o.follow)}
	case o.logFormat != "text" && o.logFormat != "json":
		return usageError{fmt.Errorf("--log-format %s: want text or json", o.logFormat)}
	}
	if _, _, err := net.SplitHostPort(o.listen); err != nil && !strings.HasPrefix(o.listen, "unix:") && o.listen != serve.Systemd {
		return usageError{fmt.Errorf("--listen %s: want HOST:PORT, such as 127.0.0.1:8000, or unix:PATH, or systemd: for a socket of systemd", o.listen)}
	}
	return nil
}

// parseSubChunks parses the values of --sub-chunks.
func parseSubChunks(values []string) (sub serve.SubChunks, err error) {
	for _, value := range values {
		if value == "auto" {
			sub.Auto = true
			continue
		}
		// A name may contain "=", a shape does not.
		at := strings.LastIndex(value, "=")
		bad := fmt.Errorf("--sub-chunks %s: want auto, or ARRAY=SHAPE such as sst=1,225,225", value)
		if at <= 0 {
			return sub, bad
		}
		var shape []int64
		for _, text := range strings.Split(value[at+1:], ",") {
			n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
			if err != nil || n < 1 {
				return sub, bad
			}
			shape = append(shape, n)
		}
		if sub.Shapes == nil {
			sub.Shapes = map[string][]int64{}
		}
		sub.Shapes[value[:at]] = shape
	}
	return sub, nil
}

// runServe serves until a signal ends it, which is not an error.
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
	o := serve.Options{Base: opts.base, Store: opts.store(), Reload: opts.reloading(), FollowAlways: opts.follow == "always", PerClient: opts.perClient, Proxied: opts.proxied, Log: log, Access: access}
	if o.SubChunks, err = parseSubChunks(opts.subChunks); err != nil {
		return usageError{err}
	}
	o.DiskCache, o.Version = opts.diskCache, build()
	if o.DiskCacheBytes, err = parseSize("--disk-cache-size", opts.diskCacheSize); err != nil {
		return usageError{err}
	}
	if o.MaxAnswer, err = parseSize("--max-answer", opts.maxAnswer); err != nil {
		return usageError{err}
	}
	if o.Conventions, err = parseConventions(opts.conventions); err != nil {
		return usageError{err}
	}
	if o.NetCDF, err = opts.netcdf.parse(); err != nil {
		return err
	}
	o.STAC = func(ctx context.Context, w io.Writer, s *store.Store, id, href string) error {
		return present.WriteSTAC(ctx, w, s, &present.STACOptions{ID: id, Href: href, Collection: true, Others: []present.STACAsset{
			{Form: present.STACRegular, Href: href + "regular/"}, {Form: present.STACNetCDF, Href: href + url.PathEscape(id) + ".nc"},
		}})
	}
	if opts.tokens != "" {
		if o.Tokens, err = serve.OpenTokens(opts.tokens); err != nil {
			return ownError{err}
		}
	}
	handler, err := serve.New(ctx, names, &o)
	if errors.Is(err, store.ErrNoArray) {
		return usageError{err}
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, handler.Close()) }()
	server := serve.Server{Connections: opts.connections, Drain: opts.drain, Cert: opts.cert, Key: opts.key, ClientCA: opts.clientCA, Log: log}
	listener, name, err := server.Listen(ctx, opts.listen)
	if err != nil {
		return ownError{err}
	}
	if _, err := fmt.Fprintln(out, "listening on", opts.root(name)); err != nil {
		return errors.Join(err, listener.Close())
	}
	for manifest, path := range handler.Snapshots() {
		log.Info("permanent address of this snapshot", "manifest", manifest, "address", address(name, path))
	}
	if err := notifySystemd(ctx, "READY=1"); err != nil {
		log.Warn("telling systemd that the server is ready", "error", err)
	}
	told := make(chan struct{})
	serves := context.AfterFunc(ctx, func() {
		defer close(told)
		if err := notifySystemd(context.WithoutCancel(ctx), "STOPPING=1"); err != nil {
			log.Warn("telling systemd that the server stops", "error", err)
		}
	})
	finishesRequests.Store(true)
	err = server.Serve(ctx, listener, handler)
	if !serves() {
		<-told
	}
	return err
}

// address returns the address of a path on a listener. Clients of a Unix socket need the path alone.
func address(name, path string) string {
	if strings.HasPrefix(name, "unix:") {
		return path
	}
	return name + path
}

// root returns the address of the server on a listener.
func (o *serveOptions) root(name string) string {
	if base := strings.Trim(o.base, "/"); base != "" && !strings.HasPrefix(name, "unix:") {
		return name + (&url.URL{Path: "/" + base}).EscapedPath()
	}
	return name
}

func (o *serveOptions) store() store.Options {
	opts := *o.storeOptions()
	opts.Padded = o.padded
	if opts.CacheBytes = o.cacheBytes; o.cacheBytes == 0 {
		opts.CacheBytes = -1 // 0 would be the default of the library
	}
	return opts
}

// reloading returns the interval for the library, where 0 means the default, and not never.
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

// accessLog returns the log of requests, or nil for none, and a function that closes it.
func (o *serveOptions) accessLog(messages io.Writer) (*slog.Logger, func() error, error) {
	nothing := func() error { return nil }
	switch o.access {
	case "":
		return nil, nothing, nil
	case "-":
		return o.logger(messages), nothing, nil
	}
	if err := o.checkAccessLog(); err != nil {
		return nil, nothing, err
	}
	f, err := os.OpenFile(o.access, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666)
	if err != nil {
		return nil, nothing, ownError{err}
	}
	return o.logger(f), f.Close, nil
}

// checkAccessLog returns an error if the file for the access log exists, is not empty, and does not begin with a line of an access
// log in the same format.
func (o *serveOptions) checkAccessLog() error {
	info, err := os.Stat(o.access)
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return nil // opening it returns the error, if any
	}
	f, err := os.Open(o.access)
	if err != nil {
		return ownError{err}
	}
	defer f.Close()
	begin := make([]byte, 128)
	n, err := io.ReadFull(f, begin)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return ownError{err}
	}
	format := accessText
	if o.logFormat == "json" {
		format = accessJSON
	}
	if !format.Match(begin[:n]) {
		return usageError{fmt.Errorf("--access-log %s: the file exists and is not an access log with --log-format %s, so nothing is appended; choose another name", o.access, o.logFormat)}
	}
	return nil
}

// The beginnings of lines of access logs, as log/slog writes them.
var (
	accessText = regexp.MustCompile(`^time=\S+ level=INFO msg=request method=`)
	accessJSON = regexp.MustCompile(`^\{"time":"[^"]+","level":"INFO","msg":"request","method":`)
)
