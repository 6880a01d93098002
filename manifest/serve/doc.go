// Package serve shows manifests over HTTP: as Zarr to clients, as pages to people.
//
//	/zarr.json                   the root group, with consolidated metadata
//	/GROUP/ARRAY/zarr.json       an array
//	/GROUP/ARRAY/c/0/1/2         a chunk: 404 where it is all fill
//	/v2/…                        the arrays with regular grids in Zarr format 2
//	/regular/…                   all arrays, the rectilinear ones cut anew into equal chunks
//	/, /GROUP/ARRAY              pages, for whoever asks for HTML
//	/@SNAPSHOT/…                 the same of one snapshot, for good
//	/@newest                     leads to the address of the newest
//	/healthz, /metrics           for whoever watches
//
// All of it stands below Options.Base. With several manifests all but the last line stands below /NAME/. The plain address follows new
// snapshots as far as they extend the one that is there, since clients ask for chunks by documents
// that they have read before.
//
// A chunk that is stored as it is declared goes from its file to the socket without passing
// through the memory of this process; the store opens the file, if it may be read and is what
// was scanned. Every answer is of that version of the source, or an error:
//
//	404  there is no such key, or the chunk is all fill
//	400  a # that nobody escaped may have cut the key
//	403  the source may not be read
//	409  the source has changed, or is gone
//	410  the manifest has no such snapshot any more
//	502  the source cannot be reached
//	500  what was read is corrupt
//
// A Handler is one among others in a server of your own, behind your own middleware, which gets a
// panic of http.ErrAbortHandler where a source changed while it was sent: to break the connection
// is the only way to tell. A ResponseWriter that wraps another should have an Unwrap for
// http.ResponseController, without which clients are given all the time they want, and a ReadFrom,
// without which chunks pass through memory. Server is what the command line listens with.
//
// Clients fill in what is 404, so nothing but fill is ever answered so. Errors are JSON that
// names the source.
package serve
