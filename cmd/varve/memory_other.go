//go:build !linux

package main

// useLargePages is nothing where a program cannot ask for them.
func useLargePages(int) {}
