// Keeps the library from being empty.
