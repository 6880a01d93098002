package netcdffile
import ("testing";"os";"context";"varve/manifest/store")
func TestTry(t *testing.T) {
	st, err := store.Open(context.Background(), os.Getenv("TRY"), &store.Options{Trusted: true})
	if err != nil { t.Fatal(err) }
	f, err := Open(t.Context(), st, nil)
	if err != nil { t.Fatal(err) }
	b := make([]byte, f.Size())
	f.ReadAt(t.Context(), b, 0)
	os.WriteFile("/tmp/nc-try.nc", b, 0o644)
}
