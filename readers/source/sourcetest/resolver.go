package sourcetest

import (
	"context"
	"net"
	"testing"
)

// ResolveAll makes every host name resolve to one address until the test ends, as an attacker can do who controls a domain.
func ResolveAll(t *testing.T, address [4]byte) {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	go func() {
		for query := make([]byte, 512); ; {
			n, from, err := server.ReadFrom(query)
			if err != nil {
				return
			}
			if _, err := server.WriteTo(answerDNS(query[:n], address), from); err != nil {
				return
			}
		}
	}()
	before := net.DefaultResolver
	t.Cleanup(func() { net.DefaultResolver = before })
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
}

// answerDNS answers a query for an A record with the address, and any other query without records (RFC 1035,
// section 4).
func answerDNS(query []byte, address [4]byte) []byte {
	end := 12
	for end < len(query) && query[end] != 0 {
		end += 1 + int(query[end])
	}
	end = min(end+5, len(query)) // the root, the type and the class
	question := query[12:end]
	isA := end-4 >= 0 && query[end-3] == 1
	out := append([]byte{query[0], query[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, question...)
	if isA {
		out[7] = 1
		out = append(out, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
		out = append(out, address[:]...)
	}
	return out
}
