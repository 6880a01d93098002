// Package table keeps the rows of a manifest in Parquet files: one file a kind and a build
// or append, or all kinds in one file, which is then called a part.
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
// Rows of a kind are numbered through all its tables, in the order of Table.First, and are
// found by arithmetic: table, row group, page. All columns have the pages of a row group in
// common, but for those that hold one value only, which have one page of a few bytes.
// docs/format.md says what each column holds.
//
// What is written depends on the rows alone: equal rows make equal files.
//
// Files are read as if an enemy had written them. What is wrong with one is a
// manifest.DamageError that names it; nothing is allocated that the size of the file does not
// justify, but for what zstd and runs of equal values can expand to, which is bounded by the
// limits of a page.
package table
