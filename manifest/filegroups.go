package manifest

import "crypto/sha256"

// FileGroups are the attributes of the groups of a file, in little memory. Like a FileHeader, it has a pointer to attributes
// that many files share, and the values in which its own differ. It never changes, so it is safe for concurrent use.
// Shared.Groups makes FileGroups that share memory.
type FileGroups struct {
	ID          string // of the GroupAttributes
	base        *GroupAttributes
	differences string // see appendDifferences
}

// NewFileGroups returns FileGroups that share nothing with others. The attributes must not change any more.
func NewFileGroups(g *GroupAttributes) *FileGroups { return &FileGroups{ID: g.ID, base: g} }

// Expand returns the attributes. They must not be changed.
func (g *FileGroups) Expand() *GroupAttributes {
	if g.differences == "" {
		return g.base
	}
	out := &GroupAttributes{ID: g.ID, Groups: append([]Group(nil), g.base.Groups...)}
	for i, differences := range differenceLists(g.differences) {
		out.Groups[i].Attributes = withDifferences(out.Groups[i].Attributes, differences)
	}
	return out
}

// MarshalJSON returns the JSON of the attributes.
func (g *FileGroups) MarshalJSON() ([]byte, error) { return g.Expand().MarshalJSON() }

func (g *GroupAttributes) attributesOf(i int) []Attribute { return g.Groups[i].Attributes }

// fileGroups makes FileGroups that share memory. The zero value is ready. It is not safe for concurrent use.
type fileGroups struct {
	byForm  map[form]*GroupAttributes
	scratch []byte
}

// share returns the FileGroups of attributes. If they have a new form, ready is called, unless it is nil, and the
// attributes are kept. Otherwise nothing of them is kept.
func (f *fileGroups) share(g *GroupAttributes, ready func()) *FileGroups {
	f.scratch = f.scratch[:0]
	for i := range g.Groups {
		f.scratch = appendForm(appendText(f.scratch, g.Groups[i].Path), g.Groups[i].Attributes)
	}
	key := sha256.Sum256(f.scratch)
	base := f.byForm[key]
	if base == nil {
		if ready != nil {
			ready()
		}
		if f.byForm == nil {
			f.byForm = map[form]*GroupAttributes{}
		}
		f.byForm[key] = g
		return NewFileGroups(g)
	}
	f.scratch = appendDifferences(f.scratch[:0], len(g.Groups), g.attributesOf, base.attributesOf)
	return &FileGroups{ID: g.ID, base: base, differences: string(f.scratch)}
}
