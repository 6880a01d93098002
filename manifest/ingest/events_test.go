package ingest

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve/manifest/plan"
)

func TestEvents(t *testing.T) {
	record := `{"Records":[{"eventName":"ObjectCreated:Put","s3":{"bucket":{"name":"b"},"object":{"key":"2024/a+%28b%29.nc"}}},
		{"eventName":"ObjectRemoved:Delete","s3":{"bucket":{"name":"b"},"object":{"key":"c.nc"}}}]}`
	both := []string{"s3://b/2024/a (b).nc", "s3://b/c.nc"}
	text := strings.NewReplacer(`"`, `\"`, "\n", "", "\t", "").Replace(record)
	for _, c := range []struct {
		message string
		want    []string
	}{
		{"", nil}, {" \n", nil}, {"/x/a b.nc", []string{"/x/a b.nc"}}, {"s3://b/a b.nc", []string{"s3://b/a b.nc"}},
		{record, both},
		{`{"Type":"Notification","TopicArn":"arn:x","Message":"` + text + `"}`, both},
		{`{"Messages":[{"MessageId":"1","Body":"` + text + `"}]}`, both},
		{`{"Records":[{"messageId":"1","eventSource":"aws:sqs","attributes":{"SenderId":"x"},"body":"` + text + `"}]}`, both},
		{"[" + record + "]", both},
		{`{"EventName":"s3:ObjectCreated:Put","Key":"b/c.nc","Records":[{"s3":{"bucket":{"name":"b"},"object":{"key":"c.nc"}}}]}`, both[1:]},
		{`{"version":"0","detail-type":"Object Created","source":"aws.s3","detail":{"bucket":{"name":"b"},"object":{"key":"a +b.nc"}}}`, []string{"s3://b/a +b.nc"}},
		{`{"message":{"attributes":{"bucketId":"b","objectId":"a +b.nc","eventType":"OBJECT_FINALIZE"},"data":"e30="}}`, []string{"gs://b/a +b.nc"}},
		{`{"Service":"Amazon S3","Event":"s3:TestEvent","Bucket":"b"}`, nil},
		{`{"Type":"SubscriptionConfirmation","Message":"You have chosen to subscribe"}`, nil},
		{`{"detail":"text"}`, nil}, {`{}`, nil}, {`[]`, nil},
	} {
		got, err := Events([]byte(c.message))
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, %v; want %q", c.message, got, err, c.want)
		}
	}
	deep := record
	for range maxEnvelopes + 1 {
		deep = "[" + deep + "]"
	}
	for _, bad := range []string{"{", "[1]", `["x"]`, `{"Records":1}`, `{"Message":1}`, `{"s3":{"bucket":1}}`, `{"s3":{"bucket":{"name":"b"},"object":{"key":"%zz"}}}`, deep} {
		if names, err := Events([]byte(bad)); err == nil {
			t.Errorf("%s: %q", bad, names)
		}
	}
}

func FuzzEvents(f *testing.F) {
	f.Add([]byte(`{"Records":[{"s3":{"bucket":{"name":"b"},"object":{"key":"a+%28b%29.nc"}}}]}`))
	f.Add([]byte(`{"Messages":[{"Body":"{\"detail\":{\"bucket\":{\"name\":\"b\"},\"object\":{\"key\":\"a\"}}}"}]}`))
	f.Add([]byte(`{"message":{"attributes":{"bucketId":"b","objectId":"o"}}}`))
	f.Fuzz(func(t *testing.T, message []byte) {
		names, err := Events(message)
		if err != nil && len(names) > 0 {
			t.Errorf("%q and %v", names, err)
		}
	})
}

func TestCovers(t *testing.T) {
	for _, c := range []struct {
		given, match, name string
		covered, isSure    bool
	}{
		{"s3://b/a/", "", "s3://b/a/x.nc", true, true}, {"s3://b/a", "", "s3://b/a/1/x.nc", true, true}, {"s3://b/a/", "", "s3://b/ab/x.nc", false, true},
		{"s3://b/a/", "*.nc", "s3://b/a/x.txt", false, true}, {"s3://b/a/", "*.nc", "s3://b/a/x.nc", true, true}, {"s3://b/a/", "[", "s3://b/a/x.nc", true, false},
		{"s3://b/a/", "*.nc", "s3://b/a/x.zip", true, true}, {"s3://b/a/", "*.nc", "s3://b/a/x.txt.gz", false, true},
		{"s3://b/a/", "", "s3://b/a/.x.nc", false, true}, {"s3://b/a/", "", "s3://b/a/1/.tmp/x.nc", false, true},
		{"s3://b/a/", "", "s3://b/a/z.zarr/t/c/0", true, false}, {"s3://b/a/", "", "s3://b/a/m.varve/current", true, false},
		{"s3://b/20??/*.nc", "", "s3://b/2024/x.nc", true, true}, {"s3://b/20??/*.nc", "", "s3://b/1999/x.nc", false, true},
		{"s3://b/**/*.nc", "", "s3://b/1/2/x.nc", true, false}, {"s3://b/x.nc", "", "s3://b/x.nc", true, true}, {"/a", "", "/a/x.nc", true, true}, {"@list", "", "/a", true, false},
	} {
		s := &Sources{Names: []string{"/other/", c.given}, Match: c.match}
		if covered, isSure := s.covers(c.name); covered != c.covered || covered && isSure != c.isSure {
			t.Errorf("%s %s: %s: %v, %v", c.given, c.match, c.name, covered, isSure)
		}
	}
}

// TestRandomSyncFiles changes the files of a folder at random, and syncs those that messages name: late, repeated, in any
// order, and with names of other files. The result must equal a sync of the whole folder.
func TestRandomSyncFiles(t *testing.T) {
	configured(t)
	n := uint64(40)
	if testing.Short() {
		n = 10
	}
	added, replaced, removed := 0, 0, 0
	for seed := range n {
		r := rand.New(rand.NewPCG(seed, 8))
		folder := filepath.Join(t.TempDir(), "files")
		a := newArchive(t, r, folder, 1)
		opts := func() *Options { return optionsFor(folder) }
		out := filepath.Join(t.TempDir(), "a.varve")
		if _, err := Build(t.Context(), out, opts()); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		away := t.TempDir()
		var late []string
		for range 5 {
			changed := some(r, a.files)
			for _, name := range changed {
				moved := filepath.Join(away, filepath.Base(name))
				switch _, err := os.Stat(name); {
				case err != nil:
					err = os.Rename(moved, name)
					if err != nil {
						t.Fatal(err)
					}
				case r.IntN(2) == 0:
					if err := os.Rename(name, moved); err != nil {
						t.Fatal(err)
					}
				default:
					modify(t, []string{name})
				}
			}
			names := slices.Concat(changed, late, some(r, a.files), []string{"/elsewhere/x.nc", filepath.Join(folder, ".hidden")})
			r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
			result, err := SyncFiles(t.Context(), out, names, opts())
			var refused *plan.Error
			if errors.As(err, &refused) || errors.Is(err, ErrWholeSync) {
				late = append(late, changed...) // a part of an archive may have holes, or nothing
				continue
			}
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			late = changed
			added, replaced, removed = added+len(result.Added), replaced+len(result.Replaced), removed+len(result.Removed)
			if whole, err := Sync(t.Context(), out, opts()); err != nil || whole.IsNew() {
				t.Fatalf("seed %d: a sync of the whole folder still finds %+v, %v", seed, whole, err)
			}
		}
		for _, name := range a.files {
			if moved := filepath.Join(away, filepath.Base(name)); os.Rename(moved, name) == nil {
				late = append(late, name)
			}
		}
		if _, err := SyncFiles(t.Context(), out, late, opts()); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if !a.check(t, out) {
			t.Fatalf("seed %d: other values", seed)
		}
	}
	t.Logf("%d files added, %d replaced, %d removed", added, replaced, removed)
	if added == 0 || replaced == 0 || removed == 0 {
		t.Error("some kind of change did not occur")
	}
}
