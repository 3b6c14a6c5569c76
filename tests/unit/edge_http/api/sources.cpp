// src/app/api stands on edge/http alone; taking its files in here tests it without building the
// rest of the app room. (Each has its own anonymous namespace, and the names do not meet.)
#include "app/api/error_json.cpp"
#include "app/api/remote.cpp"
#include "app/api/routes.cpp"
