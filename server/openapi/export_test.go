package openapi

// LoadFrom lets tests load pieces that contain mistakes.
var LoadFrom = loadFrom

// Files are the embedded pieces.
var Files = files
