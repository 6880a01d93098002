package azure

import (
	"net/http"
	"strings"
	"testing"

	"varve/readers/source/internal/object"
)

// TestSession checks that two uploads of the same blob use different block IDs.
func TestSession(t *testing.T) {
	s := service(t, map[string]string{"AZURE_STORAGE_ACCOUNT": "acc", "AZURE_STORAGE_KEY": key})
	p := &object.Put{Bucket: "c", Key: "a b"}
	ids := map[string]bool{}
	for range 2 {
		begun, err := s.Session(p, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		list := string(begun.Done([]string{"", ""}).Before)
		for n := range 2 {
			id := begun.Part(&object.Part{Number: n}).URL.Query().Get("blockid")
			if ids[id] || !strings.Contains(list, "<Latest>"+id+"</Latest>") {
				t.Errorf("block %q, listed %s", id, list)
			}
			ids[id] = true
		}
	}
}

// TestLengthIsSigned checks that the signature covers the length of a body. "Authorize with Shared Key" requires
// it.
func TestLengthIsSigned(t *testing.T) {
	s := service(t, map[string]string{"AZURE_STORAGE_ACCOUNT": "acc", "AZURE_STORAGE_KEY": key})
	seen := map[string]bool{}
	for _, body := range []string{"", "a", "ab"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "https://acc.blob.core.windows.net/c/k", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		seen[s.signature(req)] = true
	}
	if len(seen) != 3 {
		t.Error("bodies of different lengths have the same signature")
	}
}
