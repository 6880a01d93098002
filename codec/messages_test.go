package codec

import (
	"bufio"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

var record = flag.Bool("record", false, "record the error messages of the tests in testdata/messages.txt")

const messagesFile = "testdata/messages.txt"

// messages are the texts of errors by the names of the test and of its case. They are in a
// file, so that a change of wording shows up as a diff to read.
var messages = struct {
	sync.Mutex
	texts map[string]string
}{texts: map[string]string{}}

func TestMain(m *testing.M) {
	flag.Parse()
	if err := readMessages(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if *record {
		if err := writeMessages(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(code)
}

// readMessages reads lines of a test's name, a tab and a text.
func readMessages() error {
	f, err := os.Open(messagesFile)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		name, text, _ := strings.Cut(lines.Text(), "\t")
		messages.texts[name] = text
	}
	return lines.Err()
}

func writeMessages() error {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(messages.texts)) {
		fmt.Fprintf(&b, "%s\t%s\n", name, messages.texts[name])
	}
	return os.WriteFile(messagesFile, []byte(b.String()), 0o644)
}

// checkMessage compares an error with the recorded text of a case of the test, or records it.
func checkMessage(t *testing.T, name string, err error) {
	t.Helper()
	messages.Lock()
	defer messages.Unlock()
	if err == nil {
		return // the caller has reported it
	}
	key := t.Name() + "/" + name
	if *record {
		messages.texts[key] = err.Error()
		return
	}
	if want := messages.texts[key]; err.Error() != want {
		t.Errorf("%s: the message is\n%s\nwant\n%s\nIf the new wording is better, run go test -record.", name, err, want)
	}
}
