package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"varve/manifest/report"
)

// cost is the time and memory that a command took.
type cost struct {
	elapsed, processor time.Duration
	memory             int64 // peak resident bytes, or 0 if the system does not report them
}

// String returns the elapsed time, the processor time and the memory.
func (c cost) String() string {
	return fmt.Sprintf("%s, %s, %s", seconds(c.elapsed), seconds(c.processor), report.Size(c.memory))
}

// measure runs varve with args and returns its cost.
func (b *bench) measure(ctx context.Context, args ...string) (cost, error) {
	c, _, err := b.output(ctx, args...)
	return c, err
}

// output runs varve with args and returns its cost and its standard output.
func (b *bench) output(ctx context.Context, args ...string) (c cost, results []byte, err error) {
	cmd := exec.CommandContext(ctx, b.varve, args...)
	// A user's own configuration must not change the measured commands.
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+b.path("config"))
	var out, messages bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &messages
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return c, nil, fmt.Errorf("varve %s: %w: %s", strings.Join(args, " "), err, &messages)
	}
	c.elapsed = time.Since(began)
	c.processor = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	c.memory = peakMemory(cmd.ProcessState)
	return c, out.Bytes(), nil
}
