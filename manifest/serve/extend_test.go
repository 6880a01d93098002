package serve

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"varve/manifest"
	"varve/manifest/conventions"
)

// sharded returns the document with a sharding codec.
func sharded(doc string) string {
	const bytes = `{"name":"bytes","configuration":{"endian":"little"}}`
	return strings.Replace(doc, bytes, `{"name":"sharding_indexed","configuration":{"chunk_shape":[1,1],"codecs":[`+bytes+`],
		"index_codecs":[`+bytes+`],"index_location":"end"}}`, 1)
}

// bare returns a regular document with the attributes of a rectilinear one.
func bare(shape, chunks string) string {
	return strings.Replace(regularDoc(shape, chunks), `{"units":"K","long_name":"sea & <b>"}`, "{}", 1)
}

// TestExtension checks in which hierarchies one snapshot may replace another.
func TestExtension(t *testing.T) {
	type arrays map[string]string
	const all, none = 1<<inFull | 1<<inV2 | 1<<inRegular | 1<<inCore, 0
	gzip := strings.Replace(regularDoc("[4,2]", "[2,2]"), `}}],"attributes"`, `}},{"name":"gzip","configuration":{"level":1}}],"attributes"`, 1)
	if gzip == regularDoc("[4,2]", "[2,2]") {
		t.Fatal("the document with gzip does not differ")
	}
	for _, test := range []struct {
		name     string
		old, now arrays
		changed  string
		want     int // bits of the hierarchies that it extends
	}{
		{"the same", arrays{"/a": regularDoc("[4,2]", "[2,2]")}, arrays{"/a": regularDoc("[4,2]", "[2,2]")}, "", all},
		{"longer", arrays{"/a": regularDoc("[4,2]", "[2,2]")}, arrays{"/a": regularDoc("[6,2]", "[2,2]")}, "", all},
		{"longer, a chunk that was not full", arrays{"/a": regularDoc("[3,2]", "[2,2]")}, arrays{"/a": regularDoc("[6,2]", "[2,2]")}, "", all},
		{"along two axes", arrays{"/a": regularDoc("[4,2]", "[2,2]")}, arrays{"/a": regularDoc("[6,4]", "[2,2]")}, "", all},
		{"shorter", arrays{"/a": regularDoc("[4,2]", "[2,2]")}, arrays{"/a": regularDoc("[2,2]", "[2,2]")}, "", none},
		{"other elements", arrays{"/a": regularDoc("[4,2]", "[2,2]")}, arrays{"/a": regularDoc("[4,2]", "[2,2]")}, "/a", none},
		{"other chunks", arrays{"/a": regularDoc("[4,2]", "[2,2]")}, arrays{"/a": regularDoc("[4,2]", "[4,2]")}, "", none},
		{"other codecs", arrays{"/a": regularDoc("[4,2]", "[2,2]")}, arrays{"/a": gzip}, "", none},
		{"one array more", arrays{"/a": regularDoc("[4,2]", "[2,2]")}, arrays{"/a": regularDoc("[4,2]", "[2,2]"), "/b": regularDoc("[4,2]", "[2,2]")}, "", all},
		{"one array less", arrays{"/a": regularDoc("[4,2]", "[2,2]"), "/b": regularDoc("[4,2]", "[2,2]")}, arrays{"/a": regularDoc("[4,2]", "[2,2]")}, "", none},
		{"a group instead of an array", arrays{"/a": regularDoc("[4,2]", "[2,2]")}, arrays{"/a/b": regularDoc("[4,2]", "[2,2]")}, "", none},
		{"no longer regular", arrays{"/a": bare("[4,2]", "[2,2]")}, arrays{"/a": rectilinearDoc("[7,2]", "[[2,2,3],2]")}, "", 1<<inFull | 1<<inRegular | 1<<inCore},
		{"most chunks are longer now", arrays{"/a": rectilinearDoc("[5,2]", "[[3,2],2]")}, arrays{"/a": rectilinearDoc("[13,2]", "[[3,2,4,4],2]")}, "", 1<<inFull | 1<<inV2},
		{"a shard that was not full", arrays{"/a": sharded(regularDoc("[3,2]", "[2,2]"))}, arrays{"/a": sharded(regularDoc("[4,2]", "[2,2]"))}, "", 1 << inV2}, // format 2 has no shards
		{"full shards", arrays{"/a": sharded(regularDoc("[4,2]", "[2,2]"))}, arrays{"/a": sharded(regularDoc("[6,2]", "[2,2]"))}, "", all},
		{"a name that clients confuse with another", arrays{"/a%20b": regularDoc("[4,2]", "[2,2]")}, arrays{"/a%20b": regularDoc("[4,2]", "[2,2]"), "/a b": regularDoc("[4,2]", "[2,2]")}, "", none},
		{"a group with the name of a hierarchy", arrays{"/a": regularDoc("[4,2]", "[2,2]")}, arrays{"/a": regularDoc("[4,2]", "[2,2]"), "/v2/a": regularDoc("[4,2]", "[2,2]")}, "", none},
	} {
		site := func(arrays arrays) *site {
			d := &fakeData{changed: map[string]bool{test.changed: true}}
			for path, doc := range arrays {
				d.add(t, path, doc, func(int64) manifest.ChunkKind { return manifest.Reencoded })
			}
			s, err := newSite(t.Context(), "", d, SubChunks{}, &conventions.Description{}, nil, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		x := newExtension(site(test.old), site(test.now))
		for k := range hierarchies {
			why, err := x.check(t.Context(), k)
			if err != nil || (why == "") != (test.want&(1<<k) != 0) {
				t.Errorf("%s: in %q: %q, %v", test.name, k.prefix(), why, err)
			}
		}
	}
}

// TestExtensionThatFails checks that a comparison fails if data cannot be read now, and gives a reason if
// data is missing or damaged.
func TestExtensionThatFails(t *testing.T) {
	old, now := newFake(t), newFake(t)
	log := slog.New(slog.DiscardHandler)
	a, err := newSite(t.Context(), "", old, SubChunks{}, &conventions.Description{}, nil, log)
	if err != nil {
		t.Fatal(err)
	}
	b, err := newSite(t.Context(), "", now, SubChunks{}, &conventions.Description{}, nil, log)
	if err != nil {
		t.Fatal(err)
	}
	now.arrays = now.arrays[:0]
	if c, err := newSite(t.Context(), "", now, SubChunks{}, &conventions.Description{}, nil, log); err != nil {
		t.Fatal(err)
	} else if why, _ := newExtension(a, c).check(t.Context(), inFull); why != "/big is no longer in this view" {
		t.Errorf("the first missing array: %q", why)
	}
	now.fail(errors.New("the network is down"))
	if why, err := newExtension(a, b).check(t.Context(), inFull); err == nil || why != "" {
		t.Errorf("data that cannot be read: %q, %v", why, err)
	}
	for _, damage := range []manifest.Damage{manifest.FileMissing, manifest.FileCorrupt} {
		now.fail(&manifest.DamageError{Name: "tables/refs", Damage: damage})
		if why, err := newExtension(a, b).check(t.Context(), inFull); err != nil || !strings.Contains(why, "tables/refs") {
			t.Errorf("a table that %s: %q, %v", damage, why, err)
		}
	}
}
