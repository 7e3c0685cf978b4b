package openapi

// LoadFrom lets tests load pieces with mistakes in them.
var LoadFrom = loadFrom

// Files are the embedded pieces.
var Files = files
