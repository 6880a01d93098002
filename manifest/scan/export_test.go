package scan

// SpellPaths is spellPaths, for tests that look for what a scan made of a dataset.
var SpellPaths = spellPaths
