package zarrjson

import (
	"testing"

	"varve/fixtures/messages"
)

func TestMain(m *testing.M) { messages.Main(m) }
