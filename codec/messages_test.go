package codec

import (
	"testing"

	"varve/fixtures/messages"
)

func TestMain(m *testing.M) { messages.Main(m) }

// checkMessage compares the text of an error with the recorded one. The caller has reported a missing error.
func checkMessage(t *testing.T, name string, err error) {
	t.Helper()
	if err != nil {
		messages.Check(t, name, err)
	}
}
