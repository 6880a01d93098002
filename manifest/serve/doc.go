// Package serve serves manifests over HTTP: as Zarr and OPeNDAP to clients, and as pages to browsers.
//
//	/zarr.json                   the root group, with consolidated metadata
//	/GROUP/ARRAY/zarr.json       an array
//	/GROUP/ARRAY/c/0/1/2         a chunk; 404 if all elements are the fill value
//	/v2/…                        the arrays with regular grids in Zarr format 2
//	/regular/…                   all arrays; rectilinear ones are re-chunked to a regular grid
//	/core/…                      the same without extensions of Zarr: core codecs and data types only
//	/, /GROUP/ARRAY              pages, for clients that accept HTML
//	/dap/NAME.dds, /dap.dds      OPeNDAP: DAP2 and DAP4, see package manifest/dap
//	/GROUP/ARRAY?as=csv          a subset of an array; /GROUP?as=nc&vars=A,B of several
//	/catalog.xml                 a THREDDS catalogue of all manifests
//	/@SNAPSHOT/…                 all of these for one snapshot, permanently
//	/@newest                     redirects to the address of the current snapshot
//	/healthz, /metrics           for monitoring
//
// All paths are below Options.Base. With several manifests, all paths except the monitoring ones are below /NAME/.
//
// Clients request chunks according to documents that they have read before. So the address without a snapshot
// changes to a new snapshot only in the hierarchies in which the new snapshot extends the old one; see extension.
//
// A verbatim chunk of a local file goes from the file to the socket without passing through this process. The store
// opens the file, which checks that reading is allowed and that the file is still the scanned version. Every answer
// has the bytes of that version, or is an error:
//
//	404  the key does not exist, or the chunk has only fill values
//	400  an unescaped # may have cut the key
//	403  reading the source is not allowed
//	409  the source has changed or is gone
//	410  the manifest no longer contains the snapshot
//	413  an answer of OPeNDAP or a subset would be larger than Options.MaxAnswer
//	502  the source cannot be reached
//	500  the data is corrupt
//
// Clients replace 404 by fill values, so no other error is ever reported as 404. Errors are JSON that names the source.
//
// A Handler can be part of your own server, behind your own middleware. If a source changes while it is sent, the
// handler panics with http.ErrAbortHandler, because only a broken connection tells the client. A ResponseWriter that
// wraps another needs two methods: Unwrap, so that http.ResponseController can set deadlines for slow clients, and
// ReadFrom, so that chunks do not pass through memory. Server is the server of the command line.
package serve
