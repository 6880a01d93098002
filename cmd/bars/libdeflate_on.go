//go:build libdeflate

package main

// libdeflate reports whether varve was built with the C library libdeflate. If so, only the
// row for deflate is measured.
const libdeflate = true
