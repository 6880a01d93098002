// Package table stores the rows of a manifest in Parquet files: one file for each kind and build or
// append, or all kinds in one file, a scan part.
//
//	table file                              part file
//	┌──────────────────────────────┐        ┌──────────────────────────────┐
//	│ PAR1                         │        │ PAR1                         │
//	│ row group 0   offset  pages  │        │ row group 0   "refs"         │
//	│               length  pages  │        │ row group 1   "inline"       │
//	│               mask    page   │        │ row group 2   "refs"         │
//	│ row group 1   …              │        │ …             "sources", …   │
//	│ offset indexes               │        │ offset indexes               │
//	│ checksum of the footer       │        │ checksum of the footer       │
//	│ footer, its size, PAR1       │        │ footer, its size, PAR1       │
//	└──────────────────────────────┘        └──────────────────────────────┘
//
// The rows of a kind are numbered through all its tables, in the order of Table.First. A row is found
// by arithmetic: table, row group, page. All columns have the same pages in a row group, except a
// column with only one value, which has one page of a few bytes. docs/reference/format.md describes the columns.
// Package readers/parquet describes the bytes.
//
// Equal rows always make equal files.
//
// Files are read as if an attacker had written them. Every error is a manifest.DamageError that names
// the file. Allocations are bounded by the size of the file, or, for zstd and runs of equal values, by
// the limits of a page.
package table
