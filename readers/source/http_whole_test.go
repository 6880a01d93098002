package source

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
)

func TestSave(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	defer full.Close()
	if _, err := save(full, strings.NewReader("12345"), 5); !errors.Is(err, syscall.ENOSPC) || isTransient(err) {
		t.Errorf("a full disk: got %v, transient: %v", err, isTransient(err))
	}
	for name, c := range map[string]struct {
		size int64
		ok   bool
	}{"as said": {5, true}, "nothing said": {-1, true}, "less": {6, false}, "more": {4, false}} {
		if n, err := save(&strings.Builder{}, strings.NewReader("12345"), c.size); (err == nil) != c.ok || err == nil && n != 5 {
			t.Errorf("%s: got %d, %v", name, n, err)
		}
	}
}
