package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
)

// Version is the version of the protocol.
const Version = 1

// maxRequest limits the bytes of a request. The longest requests have lists of indices. Memory is allocated only
// when bytes arrive.
const maxRequest = 1 << 30

const (
	statusDone   = 0
	statusStaged = 1
	statusNoKey  = 2
	statusFailed = 3
)

const (
	opHello   = 1
	opOpen    = 2
	opClose   = 3
	opRead    = 4
	opGet     = 5
	opList    = 6
	opDraw    = 7
	opSources = 8
	opRefs    = 9
)

const answerHead = 16

var errRequest = errors.New("malformed request")

// link is one connection. It is used by one goroutine, except while watch waits.
type link struct {
	net.Conn
	receive func(p []byte) (int, *shared, error) // one read, and the file that was sent with the bytes
	in      []byte
	have    int     // number of bytes of in that belong to the present request
	memory  *shared // the file that was sent with the request; usually nil
	stage   []byte  // the memory shared with the client; nil until the client sends a file
}

// close closes the connection and unmaps the shared memory.
func (l *link) close() {
	l.memory.close()
	unmap(l.stage)
	l.stage = nil
	_ = l.Conn.Close() // nothing is lost: answers are not buffered
}

// next reads a request. The body is valid until the next call.
func (l *link) next() (op byte, body []byte, err error) {
	l.memory.close()
	l.memory = nil
	if err := l.fill(5); err != nil {
		return 0, nil, err
	}
	size := int(binary.LittleEndian.Uint32(l.in))
	if size < 1 || size > maxRequest {
		return 0, nil, fmt.Errorf("%w: %d bytes", errRequest, size)
	}
	if err := l.fill(4 + size); err != nil {
		return 0, nil, noEOF(err)
	}
	l.have = 0 // a client waits for the answer, so no other bytes follow
	return l.in[4], l.in[5 : 4+size], nil
}

// fill reads until in has n bytes of the request.
func (l *link) fill(n int) error {
	for l.have < n {
		if l.have == len(l.in) {
			l.in = append(l.in, make([]byte, max(len(l.in), 16<<10))...)
		}
		got, memory, err := l.receive(l.in[l.have:min(len(l.in), n+len(l.in)-l.have)])
		if memory != nil {
			l.memory.close()
			l.memory = memory
		}
		l.have += got
		if err != nil {
			return err
		}
		if got == 0 {
			return io.EOF
		}
	}
	if l.have > n && n > 5 {
		return fmt.Errorf("%w: %d bytes follow it", errRequest, l.have-n)
	}
	return nil
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// answer sends a status and a payload.
func (l *link) answer(status uint32, payload ...[]byte) error {
	var head [answerHead]byte
	size := 0
	for _, p := range payload {
		size += len(p)
	}
	binary.LittleEndian.PutUint32(head[:], status)
	binary.LittleEndian.PutUint64(head[8:], uint64(size))
	buffers := append(net.Buffers{head[:]}, payload...)
	_, err := buffers.WriteTo(l.Conn)
	return err
}

// body reads the numbers of a request. If one is missing, it and all later ones are 0, and err is set.
type body struct {
	rest []byte
	err  error
}

func (b *body) take(n int) []byte {
	if b.err != nil || n < 0 || n > len(b.rest) {
		b.err = fmt.Errorf("%w: it ends early", errRequest)
		return nil
	}
	taken := b.rest[:n]
	b.rest = b.rest[n:]
	return taken
}

func (b *body) u8() byte {
	if p := b.take(1); p != nil {
		return p[0]
	}
	return 0
}

func (b *body) u32() uint32 {
	if p := b.take(4); p != nil {
		return binary.LittleEndian.Uint32(p)
	}
	return 0
}

func (b *body) i64() int64 {
	if p := b.take(8); p != nil {
		return int64(binary.LittleEndian.Uint64(p))
	}
	return 0
}

// list reads n indices.
func (b *body) list(n int64) []int64 {
	if n < 0 || n > math.MaxInt32 {
		b.err = fmt.Errorf("%w: %d indices", errRequest, n)
		return nil
	}
	p := b.take(int(n) * 8)
	if p == nil {
		return nil
	}
	out := make([]int64, n)
	for i := range out {
		out[i] = int64(binary.LittleEndian.Uint64(p[i*8:]))
	}
	return out
}

// end returns an error if a number was missing, or if bytes remain.
func (b *body) end() error {
	if b.err == nil && len(b.rest) > 0 {
		b.err = fmt.Errorf("%w: %d bytes too many", errRequest, len(b.rest))
	}
	return b.err
}
