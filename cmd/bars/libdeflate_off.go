//go:build !libdeflate

package main

// libdeflate reports whether varve was built with the C library libdeflate.
const libdeflate = false
