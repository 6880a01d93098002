package serve

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"

	"varve/manifest/conventions"
	"varve/manifest/dap"
	"varve/zarrjson"
)

// site is an open snapshot of a manifest. Its users are the addresses that serve it, and requests. It is closed when
// the last user leaves.
type site struct {
	name    string // of the manifest; empty if there is only one
	data    dataset
	denied  error // why sources may not be read; nil if they may
	nodes   []node
	v3      *view
	cut     map[string]bool // the result of cutKeys
	v2      func() (*view, error)
	regular func() (*view, error)
	core    func() (*view, error)
	netcdf  netcdf
	dap     func() *dap.Dataset // the dataset of OPeNDAP; nil if it is not supported
	origins origins
	*limits

	users users // requests, addresses, and the function that opened it
}

func newSite(ctx context.Context, name string, data dataset, sub SubChunks, described *conventions.Description, l *limits, log *slog.Logger) (*site, error) {
	members, err := sub.apply(ctx, data, log)
	if err != nil {
		return nil, err
	}
	nodes, omitted := withoutKeys(nodesOf(data.Groups(), members))
	for _, why := range omitted {
		log.Warn("not served", "why", why)
	}
	for _, n := range nodes {
		if n.unlisted != nil {
			log.Warn("not listed in groups", "why", n.unlisted)
		}
	}
	tag := data.Snapshot().ID + sub.String()
	if slices.ContainsFunc(nodes, func(n node) bool { return n.array != nil && n.array.Schema().ChunkGrid.Encoded != nil }) {
		tag += "padded" // declares other chunks
	}
	plain := nodes
	nodes = describedNodes(nodes, described)
	v3, err := newV3(nodes, tag)
	if err != nil {
		return nil, err
	}
	s := &site{name: name, data: data, nodes: nodes, v3: v3, cut: cutKeys(nodes), origins: newOrigins(), limits: l}
	s.v2 = sync.OnceValues(func() (*view, error) { return newV2(plain, tag) })
	s.regular = sync.OnceValues(func() (*view, error) { return newRegular(nodes, tag, data.Once) })
	s.core = sync.OnceValues(func() (*view, error) { return newCore(nodes, tag, data.Once) })
	s.users.Store(1)
	return s, nil
}

// describedNodes returns nodes with the attributes that describe them.
func describedNodes(nodes []node, d *conventions.Description) []node {
	if len(d.Arrays)+len(d.Groups) == 0 {
		return nodes
	}
	nodes = slices.Clone(nodes)
	for i := range nodes {
		n := &nodes[i]
		if attributes, ok := d.Groups["/"+n.path]; ok && n.array == nil {
			n.group = attributes
		}
		if attributes, ok := d.Arrays["/"+n.path]; ok && n.array != nil {
			schema := *n.array.Schema()
			schema.Attributes = attributes
			n.array = redeclared{n.array, &schema}
		}
	}
	return nodes
}

// redeclared is an array with other attributes.
type redeclared struct {
	array
	schema *zarrjson.Array
}

func (r redeclared) Schema() *zarrjson.Array { return r.schema }

// enter adds a user and reports whether the site is still open. The user calls leave.
func (s *site) enter() bool { return s.users.enter() }

func (s *site) leave(log *slog.Logger) {
	if s.users.Add(-1) > 0 {
		return
	}
	s.origins.close()
	if err := s.data.Close(); err != nil {
		log.Warn("closing a manifest", "name", s.name, "error", err)
	}
}

// hierarchy is one of the views of a snapshot.
type hierarchy int

const (
	inFull    hierarchy = iota // Zarr format 3
	inV2                       // Zarr format 2
	inRegular                  // Zarr format 3, regular grids only
	inCore                     // Zarr format 3, without extensions
	hierarchies
)

// prefix returns the first path element of the hierarchy's keys.
func (k hierarchy) prefix() string { return [hierarchies]string{"", "v2/", "regular/", "core/"}[k] }

// hierarchyOf splits a key into the hierarchy and the key within it.
func hierarchyOf(key string) (k hierarchy, below string) {
	for k := inV2; k < hierarchies; k++ {
		if below, ok := strings.CutPrefix(key, k.prefix()); ok {
			return k, below
		}
	}
	return inFull, key
}

// ask returns a hierarchy for a client. On the first call it logs which arrays the hierarchy omits.
func (s *site) ask(k hierarchy, log *slog.Logger) (*view, error) {
	v, err := s.view(k)
	if err == nil && !v.asked.Swap(true) {
		for _, why := range v.omitted {
			log.Info("not in the view", "view", strings.Trim(k.prefix(), "/"), "why", why)
		}
	}
	return v, err
}

// view returns a hierarchy, which is created on first use.
func (s *site) view(k hierarchy) (*view, error) {
	switch k {
	case inV2:
		return s.v2()
	case inRegular:
		return s.regular()
	case inCore:
		return s.core()
	}
	return s.v3, nil
}

// fail answers with the fault that describes an error. If the snapshot has been removed, missing tables are
// not reported as damage.
func (s *site) fail(w http.ResponseWriter, r *http.Request, err error) {
	if isGone(err) {
		if kept, failed := s.data.IsKept(r.Context()); !kept && failed == nil {
			err = goneError(s.data.Snapshot().ID)
		}
	}
	fail(w, r, err)
}

// cutKeys returns the paths that the server receives for keys whose names contain a '#', if the client does
// not escape it: the path of a URL ends there.
func cutKeys(nodes []node) map[string]bool {
	cut := map[string]bool{}
	for _, n := range nodes {
		if left, _, found := strings.Cut(n.path, "#"); found {
			cut[left], cut[unescaped(left)] = true, true
		}
	}
	return cut
}
