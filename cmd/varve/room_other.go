//go:build !linux

package main

// makeRoom is for Linux.
func makeRoom() {}
