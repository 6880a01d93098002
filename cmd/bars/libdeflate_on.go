//go:build libdeflate

package main

// libdeflate says whether varve was built with the C library. Only the row that is about
// it is measured then.
const libdeflate = true
