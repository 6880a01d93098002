package scan

// SpellPaths exports spellPaths to tests.
var SpellPaths = spellPaths
