// Package dmrpp reads DMR++ sidecars: XML documents that say what a data file holds and
// where its chunks are, so that the file itself need not be opened.
//
// A document is a DAP4 Dataset Metadata Response with elements of the namespace
// http://xml.opendap.org/dap/dmrpp/1.0.0# added to its variables (OPeNDAP, "DMR++"):
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
// Instead of chunks a variable may have one chunk (contiguous storage), compact or
// missingdata (values in base64, the second also deflated), or vlsa (texts). Older documents
// use the prefix h4 and byteStream for chunk.
//
// The writers' habits are followed where they are not what the document seems to say:
//
//   - without dmrpp:version the order of filters means nothing; it is shuffle, deflate, fletcher32
//   - without byteOrder elements are little-endian
//   - fm is the filter mask of HDF5, whose bits count the filters in their order
//   - an href that is no URL is the path on the server that wrote the document: the data are
//     taken to lie beside the sidecar, under its name without .dmrpp
//
// Refs are not kept in memory: a variable remembers which bytes of the document hold them.
// Values are in another source (Storage.Source), except for those that stand inline.
//
// Refused by name: Structure, Sequence, Opaque, linked blocks, strings of varying length that
// are in chunks.
package dmrpp
