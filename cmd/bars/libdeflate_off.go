//go:build !libdeflate

package main

// libdeflate says whether varve was built with the C library.
const libdeflate = false
