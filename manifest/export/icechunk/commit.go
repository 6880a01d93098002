package icechunk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

	"varve/manifest"
	"varve/manifest/export/internal/progress"
	"varve/manifest/internal/change"
	"varve/manifest/internal/home"
	"varve/readers/icechunk/file"
)

// commit is a snapshot that is being written to a new or existing repository.
type commit struct {
	writer
	opts *Options
	past change.Past

	repo *repoInfo
	base *snapshot // the tip of the branch; nil if it is empty
	ours *snapshot // varve's last commit on the branch; nil if there is none
	from origin    // the manifest snapshot that ours exported

	initial string // the backup of the file repo before the first commit
}

func (e *export) commit(h home.Home) *commit {
	return &commit{
		writer: writer{home: h, in: e.in, inline: e.opts.InlineBytes, ids: newNames(e.opts.random), reach: reach{named: e.opts.named}},
		opts:   e.opts, past: e.past, repo: &repoInfo{},
	}
}

// first writes the empty snapshot with which every repository begins.
func (c *commit) first(ctx context.Context) error {
	root, err := encodeFlex(map[string]any{"is_root": true})
	if err != nil {
		return err
	}
	at := c.repo.now(c.opts.clock())
	metadata := []item{{"__icechunk", root}}
	s := &snapshot{id: firstSnapshot, flushedAt: at, message: "Repository initialized", metadata: metadata}
	if err := c.saveSnapshot(ctx, s); err != nil {
		return err
	}
	if err := c.saveLog(ctx, &transaction{id: firstSnapshot}); err != nil {
		return err
	}
	c.repo.snapshots = []snapshotInfo{{id: s.id, root: true, flushedAt: at, message: s.message, metadata: metadata}}
	c.repo.branches = []ref{{defaultBranch, s.id}}
	c.repo.status = status{setAt: at}
	c.repo.updates = []update{{kind: initialized, body: fields{}, at: at}}
	file, err := c.encodeRepo()
	if err != nil {
		return err
	}
	c.initial, err = c.saveBackup(ctx, file)
	return err
}

// saveBackup stores a copy of the file repo. The name contains the time left until the year 3000, so that the
// newest sorts first, as in Icechunk.
func (c *commit) saveBackup(ctx context.Context, file []byte) (string, error) {
	id, err := c.ids.object()
	if err != nil {
		return "", err
	}
	left := time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli() - c.opts.clock().UnixMilli()
	name := fmt.Sprintf("repo.%014d.%v", left, id)
	key := overwrittenFolder + "/" + name
	c.begin(key)
	return name, c.home.Put(ctx, key, file, home.Flushed)
}

// run writes everything except the file repo, and returns when it is on disk.
func (c *commit) run(ctx context.Context) (*Result, error) {
	result, err := c.merge(ctx)
	return result, errors.Join(err, c.home.Settle())
}

func (c *commit) merge(ctx context.Context) (*Result, error) {
	targets, err := c.in.targets()
	if err != nil {
		return nil, err
	}
	parent, err := c.repo.branch(c.opts.Branch)
	if err != nil {
		return nil, err
	}
	id, err := c.ids.object()
	if err != nil {
		return nil, err
	}
	m := &merger{tip: byPath(c.base), ours: byPath(c.ours), others: c.from.others, most: c.opts.ManifestRefs, cuts: c.opts.ManifestChunks, ids: c.ids,
		log: &transaction{id: id}, commit: fmt.Sprintf("%v, %q", parent, c.repo.message(parent))}
	if err := c.compare(ctx, m, targets); err != nil {
		return nil, err
	}
	if err := m.merge(ctx, targets); err != nil {
		return nil, err
	}
	if m.log.isEmpty() && c.ours != nil {
		return &Result{Snapshot: parent.String(), Unchanged: true}, nil
	}
	return c.save(ctx, m, parent)
}

// compare loads the manifest snapshot of the last export and prepares the comparison with it. now are the targets of this export.
func (c *commit) compare(ctx context.Context, m *merger, now []target) error {
	if c.ours == nil {
		return nil
	}
	old, err := c.past.Load(ctx, c.from.snapshot)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is an export of snapshot %.12s, which is not in the history of this manifest; export to another folder or replace the repository: %w", c.home.Name(""), c.from.snapshot, fs.ErrExist)
	}
	if err != nil {
		return fmt.Errorf("%s: the snapshot of the last export: %w", c.home.Name(""), err)
	}
	if c.from.padded != c.in.snapshot.HasPadding() {
		return fmt.Errorf("%s: only one of this export and the last one has padded chunks; export to another folder or replace the repository: %w", c.home.Name(""), fs.ErrExist)
	}
	if c.from.padded {
		if old, err = old.WithPadding(); err != nil {
			return err
		}
	}
	before, err := snapshotInput(old)
	if err != nil {
		return err
	}
	targets, err := before.targets()
	if err != nil {
		return err
	}
	m.before = map[string]target{}
	for _, t := range targets {
		m.before[t.path] = t
	}
	if err := c.checkGrids(now, m.before); err != nil {
		return err
	}
	m.changes = &change.Snapshots{Old: old, Now: c.in.snapshot, Past: c.past}
	return nil
}

// checkGrids returns an error if the commit would change a chunk grid in a way that Options do not allow.
func (c *commit) checkGrids(now []target, before map[string]target) error {
	for _, t := range now {
		was := before[t.path]
		if t.array == nil || was.array == nil || c.opts.Rectilinear {
			continue
		}
		if err := change.CheckGrid(c.home.Name(""), t.path, was.array.spec.Schema.ChunkGrid.Name, t.array.spec.Schema.ChunkGrid.Name); err != nil {
			return manifest.WithRemedy(err, "rectilinear", "")
		}
	}
	return nil
}

// save writes manifests, log and snapshot.
func (c *commit) save(ctx context.Context, m *merger, parent objectID) (*Result, error) {
	jobs, err := pile(m.parts, m.most, c.ids)
	if err != nil {
		return nil, err
	}
	total := int64(0)
	for _, p := range m.parts {
		total += chunks(p.box)
		// Progress counts chunks, including missing ones, because only the walk over them finds out.
	}
	c.seen = progress.New(c.opts.Progress, total)
	if err := c.write(ctx, jobs, c.opts.Workers); err != nil {
		return nil, err
	}
	result := &Result{Snapshot: m.log.id.String()}
	s := &snapshot{id: m.log.id, nodes: m.nodes, flushedAt: c.repo.now(c.opts.clock()), message: c.message()}
	if c.base != nil {
		s.manifests, s.extra = c.base.manifests, c.base.extra
	}
	for _, j := range jobs {
		if j.info.refs > 0 {
			s.manifests = append(s.manifests, j.info)
			result.Manifests++
			result.Bytes += int64(j.info.size)
			j.link(s.nodes)
		}
		result.Counts.add(j.count)
	}
	s.keepUsed()
	if err := c.saveLog(ctx, m.log); err != nil {
		return nil, err
	}
	metadata, err := c.in.origin(m.kept).encode()
	if err != nil {
		return nil, err
	}
	s.metadata = []item{metadata}
	if err := c.saveSnapshot(ctx, s); err != nil {
		return nil, err
	}
	return result, c.publish(s, parent, result)
}

// message returns the message of the commit.
func (c *commit) message() string {
	if c.opts.Message != "" {
		return c.opts.Message
	}
	return fmt.Sprintf("varve export of snapshot %.12s", c.in.snapshot.ID)
}

// publish adds the snapshot to the repository's metadata in memory.
func (c *commit) publish(s *snapshot, parent objectID, result *Result) (err error) {
	result.Containers = c.reach.list()
	config, added, err := withContainers(c.repo.config, result.Containers, c.reach.nameOf, c.opts.S3)
	if err != nil {
		return err
	}
	if len(added) > 0 || c.repo.config == nil {
		c.repo.config = config
	}
	c.repo.commit(snapshotInfo{id: s.id, parent: parent, flushedAt: s.flushedAt, message: s.message, metadata: s.metadata}, c.opts.Branch)
	return nil
}

// link adds the manifest to the arrays of a job.
func (j *job) link(nodes []node) {
	for _, p := range j.parts {
		i := slices.IndexFunc(nodes, func(n node) bool { return n.id == p.node })
		if i >= 0 && p.refs > 0 {
			nodes[i].array.manifests = append(nodes[i].array.manifests, manifestRef{j.id, extents(p.box)})
		}
	}
}

// keepUsed removes manifests that no array uses.
func (s *snapshot) keepUsed() {
	used := map[objectID]bool{}
	for _, n := range s.nodes {
		if n.array != nil {
			for _, m := range n.array.manifests {
				used[m.id] = true
			}
		}
	}
	s.manifests = slices.DeleteFunc(s.manifests, func(m manifestInfo) bool { return !used[m.id] })
}

func (c *commit) saveSnapshot(ctx context.Context, s *snapshot) error {
	return c.pack(ctx, file.Snapshot, snapshotsFolder, s.id, s.encode())
}

func (c *commit) pack(ctx context.Context, k file.Kind, folder string, id objectID, buffer []byte) error {
	e, err := newEncoder(nil, 1)
	if err != nil {
		return err
	}
	return c.add(ctx, pack(k, e, buffer), folder, id)
}

// saveLog writes the transaction log of a commit. A log with more chunks than Icechunk can read is omitted:
// snapshots are readable without it, but Icechunk cannot show their difference.
func (c *commit) saveLog(ctx context.Context, t *transaction) error {
	if !t.isReadable() {
		return nil
	}
	key := transactionsFolder + "/" + t.id.String()
	if t.id != firstSnapshot { // the first snapshot is the same in every repository
		c.begin(key)
	}
	return c.home.Write(ctx, key, home.Flushed, func(w io.Writer) error {
		if _, err := w.Write(header(file.Transaction)); err != nil {
			return err
		}
		e, err := newEncoder(w, 2)
		if err != nil {
			return err
		}
		return errors.Join(t.write(e), e.Close())
	})
}

// encodeRepo returns the file repo, which makes the commit visible.
func (c *commit) encodeRepo() ([]byte, error) {
	buffer, err := c.repo.encode()
	if err != nil {
		return nil, err
	}
	e, err := newEncoder(nil, 1)
	if err != nil {
		return nil, err
	}
	return pack(file.Repo, e, buffer), nil
}

// appendTo commits to an existing repository.
func (e *export) appendTo(ctx context.Context, h home.Home) (result *Result, err error) {
	if e.in.isPart {
		return nil, &manifest.ExistsError{Name: h.Name(""), Why: "exists, and a part of a dataset cannot update it"}
	}
	c := e.commit(h)
	var was fetched
	was.data, was.version, err = h.ReadVersion(ctx, repoKey, file.MaxSize)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is an Icechunk 1 repository; upgrade it or export to another folder: %w", h.Name(""), errors.ErrUnsupported)
	}
	if err != nil {
		return nil, err
	}
	if err := c.open(ctx, was.data); err != nil {
		return nil, fmt.Errorf("%s: %w", h.Name(""), err)
	}
	defer func() { err = c.takeBack(ctx, err) }()
	if result, err = c.run(ctx); err != nil || result.Unchanged {
		return result, err
	}
	result.Appended = true
	return result, c.replaceRepo(ctx, was)
}

// open reads the state of the repository.
func (c *commit) open(ctx context.Context, data []byte) error {
	f, err := unpack(file.Repo, data)
	if err != nil {
		return err
	}
	if err := c.repo.read(f); err != nil {
		return err
	}
	if c.repo.status.availability != 0 {
		return fmt.Errorf("the repository is not open for writing (%s): %w", c.repo.status.reason, fs.ErrPermission)
	}
	tip, err := c.repo.branch(c.opts.Branch)
	if err != nil {
		return err
	}
	last, from, err := c.repo.exported(tip)
	if err != nil {
		return err
	}
	if c.past == nil {
		return fmt.Errorf("the repository exists, and only a manifest that is opened from its folder can be appended: %w", fs.ErrExist)
	}
	if c.base, err = c.load(ctx, tip); err != nil {
		return err
	}
	c.from, c.ours = from, c.base
	if last != tip {
		c.ours, err = c.load(ctx, last)
	}
	return err
}

func (c *commit) load(ctx context.Context, id objectID) (*snapshot, error) {
	f, err := c.read(ctx, file.Snapshot, snapshotsFolder, id)
	if err != nil {
		return nil, err
	}
	s := &snapshot{}
	if err := s.read(f); err != nil {
		return nil, fmt.Errorf("snapshot %v: %w", id, err)
	}
	return s, nil
}

// exported returns varve's newest snapshot on a branch and the manifest snapshot that it exported.
func (r *repoInfo) exported(tip objectID) (objectID, origin, error) {
	// Bounded by the number of snapshots, because a damaged file may have a cycle of parents.
	for id, steps := tip, 0; steps <= len(r.snapshots); steps++ {
		s := r.find(id)
		if s == nil {
			break
		}
		if from, ok := readOrigin(s.metadata); ok {
			return id, from, nil
		}
		if s.root {
			break
		}
		id = s.parent
	}
	return objectID{}, origin{}, fmt.Errorf("the repository exists and varve has written no snapshot on its branch; export to another folder or replace the repository: %w", fs.ErrExist)
}

func (r *repoInfo) message(id objectID) string {
	if s := r.find(id); s != nil {
		return s.message
	}
	return ""
}

// replaceRepo backs up the file repo and replaces it, if it has not changed since it was read.
func (c *commit) replaceRepo(ctx context.Context, was fetched) error {
	backup, err := c.saveBackup(ctx, was.data)
	if err != nil {
		return err
	}
	c.repo.backup(backup)
	return c.swap(ctx, was)
}
