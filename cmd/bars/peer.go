package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// peer is the Python process that runs the jobs that varve is compared with.
type peer struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	who map[string]string // by job: name and version of its decoder
}

// startPeer starts fixtures/python/bars.py and waits until it has written the chunks to folder.
func startPeer(python, folder string) (*peer, error) {
	cmd := exec.Command(python, "fixtures/python/bars.py", folder)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &peer{cmd: cmd, in: in, out: bufio.NewReader(out)}
	line, err := p.out.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &p.who)
	}
	if err != nil {
		return nil, fmt.Errorf("bars.py: %w", err)
	}
	return p, nil
}

// pass has the peer run a job once and returns the seconds that the peer measured.
func (p *peer) pass(name string) (float64, error) {
	if _, err := fmt.Fprintln(p.in, name); err != nil {
		return 0, err
	}
	line, err := p.out.ReadString('\n')
	if err != nil {
		return 0, fmt.Errorf("bars.py, %s: %w", name, err)
	}
	return strconv.ParseFloat(strings.TrimSpace(line), 64)
}

// stop ends the peer and waits for it.
func (p *peer) stop() error {
	if err := p.in.Close(); err != nil { // the peer ends at the end of its input
		return err
	}
	return p.cmd.Wait()
}
