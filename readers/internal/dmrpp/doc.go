// Package dmrpp reads DMR++ sidecars: XML documents that describe the content of a data file and
// the positions of its chunks, so that the file itself need not be opened.
//
// A document is a DAP4 Dataset Metadata Response with elements of the namespace
// http://xml.opendap.org/dap/dmrpp/1.0.0# inside its variables (OPeNDAP, "DMR++"):
//
//	<Dataset name="a.h5" dmrpp:href="https://…/a.h5" dmrpp:version="3.21.0">
//	  <Dimension name="x" size="100"/>
//	  <Float32 name="v">
//	    <Dim name="/x"/>
//	    <Attribute name="units" type="String"><Value>K</Value></Attribute>
//	    <dmrpp:chunks compressionType="shuffle deflate" deflateLevel="4" fillValue="0" byteOrder="LE">
//	      <dmrpp:chunkDimensionSizes>50</dmrpp:chunkDimensionSizes>
//	      <dmrpp:chunk offset="4016" nBytes="171" chunkPositionInArray="[0]"/>
//	      <dmrpp:chunk offset="4187" nBytes="169" chunkPositionInArray="[50]" fm="1"/>
//	    </dmrpp:chunks>
//	  </Float32>
//	  <Group name="g"> … </Group>
//	</Dataset>
//
// Instead of chunks, a variable may have one chunk (contiguous storage), compact or missingdata
// (values in base64, the latter also deflated), or vlsa (strings). Older documents use the prefix
// h4, and byteStream for chunk.
//
// Some conventions are not evident from a document:
//
//   - Without dmrpp:version the order of filters has no meaning; it is shuffle, deflate,
//     fletcher32.
//   - Without byteOrder, elements are little-endian.
//   - fm is HDF5's filter mask; bit i is for filter i.
//   - An href that is not a URL is a path on the server that wrote the document. The data file is
//     then expected next to the sidecar, under its name without .dmrpp.
//
// Refs are not kept in memory: a variable keeps the position of its chunks element and reads refs
// from the document on request. Values are in another source (Storage.Source), unless they are
// inline.
//
// The package rejects Structure, Sequence, Opaque, linked blocks, and chunked strings of varying
// length, with an error that names the feature.
package dmrpp
