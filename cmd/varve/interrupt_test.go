package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// TestStuck interrupts a process that never looks at its context. It must end with the exit code of an interruption.
func TestStuck(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows cannot send a signal to one process")
	}
	if os.Getenv("VARVE_TEST_STUCK") != "" {
		interruptible()
		fmt.Println("stuck")
		time.Sleep(time.Minute)
		os.Exit(exitFailed)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestStuck$")
	cmd.Env = append(os.Environ(), "VARVE_TEST_STUCK=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitInterrupted {
		t.Errorf("got %v, want exit code %d", err, exitInterrupted)
	}
}

// TestEndWithoutSignal ends the handling of signals without a signal. The command must then have all time that it needs, such as
// for the exit code of very many errors.
func TestEndWithoutSignal(t *testing.T) {
	if os.Getenv("VARVE_TEST_STUCK") != "" {
		_, stop := interruptible()
		stop()
		time.Sleep(patience + time.Second)
		os.Exit(exitCorrupt)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestEndWithoutSignal$")
	cmd.Env = append(os.Environ(), "VARVE_TEST_STUCK=1")
	var exit *exec.ExitError
	if err := cmd.Run(); !errors.As(err, &exit) || exit.ExitCode() != exitCorrupt {
		t.Errorf("got %v, want exit code %d", err, exitCorrupt)
	}
}
