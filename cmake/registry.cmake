# The directory is the registry: every .cpp of a folder is an entry, and this writes the table.
# A file STEM.cpp of registry `verb` defines `Verb verb_STEM()`; kind.hpp and friends are headers.
function(muster_registry name folder prefix type header)
  cmake_parse_arguments(REG "" "ROOM" "" ${ARGN})
  file(GLOB entries CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/*.cpp)
  set(decls "")
  set(calls "")
  foreach(entry ${entries})
    get_filename_component(stem ${entry} NAME_WE)
    string(APPEND decls "${type} ${prefix}_${stem}();\n")
    string(APPEND calls "      ${prefix}_${stem}(),\n")
  endforeach()
  set(REG_NAME ${name})
  set(REG_TYPE ${type})
  set(REG_HEADER ${header})
  set(REG_DECLS ${decls})
  set(REG_CALLS ${calls})
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/registry_${name}.cpp @ONLY CONTENT
"// Written by cmake/registry.cmake from the files of the folder.
#include \"@REG_HEADER@\"

namespace muster {
@REG_DECLS@
const std::vector<@REG_TYPE@>& all_@REG_NAME@() {
  static const std::vector<@REG_TYPE@> kAll = {
@REG_CALLS@  };
  return kAll;
}
}  // namespace muster
")
  target_sources(room_${REG_ROOM} PRIVATE ${CMAKE_BINARY_DIR}/generated/registry_${name}.cpp)
endfunction()
