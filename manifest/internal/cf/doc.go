// Package cf knows what the attributes of a variable mean by the CF conventions: packing,
// missing values, times.
package cf
