# Text files put into the binary by the assembler: no generated C arrays, no files at run time.
function(muster_embed output symbol_prefix room)
  set(asm "  .section .rodata\n")
  set(table "")
  foreach(file ${ARGN})
    get_filename_component(stem ${file} NAME_WE)
    string(MAKE_C_IDENTIFIER "${symbol_prefix}_${stem}" symbol)
    string(APPEND asm "  .global ${symbol}_begin\n${symbol}_begin:\n  .incbin \"${file}\"\n  .global ${symbol}_end\n${symbol}_end:\n  .byte 0\n")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    string(APPEND table "    {\"${stem}\", std::string_view(&${symbol}_begin, static_cast<std::size_t>(&${symbol}_end - &${symbol}_begin))},\n")
    string(APPEND decls "extern const char ${symbol}_begin;\nextern const char ${symbol}_end;\n")
  endforeach()
  string(APPEND asm "  .section .note.GNU-stack,\"\",@progbits\n")
  set(EMBED_DECLS "${decls}")
  set(EMBED_TABLE "${table}")
  set(EMBED_NAME ${output})
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/embed_${output}.s @ONLY CONTENT "${asm}")
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/embed_${output}.cpp @ONLY CONTENT
"// Written by cmake/embed.cmake.
#include <string_view>
#include <utility>
#include <vector>
extern \"C\" {
@EMBED_DECLS@}
namespace muster {
const std::vector<std::pair<std::string_view, std::string_view>>& embedded_@EMBED_NAME@() {
  static const std::vector<std::pair<std::string_view, std::string_view>> kAll = {
@EMBED_TABLE@  };
  return kAll;
}
}  // namespace muster
")
  set_source_files_properties(${CMAKE_BINARY_DIR}/generated/embed_${output}.s PROPERTIES OBJECT_DEPENDS "${ARGN}")
  target_sources(room_${room} PRIVATE ${CMAKE_BINARY_DIR}/generated/embed_${output}.cpp ${CMAKE_BINARY_DIR}/generated/embed_${output}.s)
endfunction()

function(muster_embed_help folder)
  cmake_parse_arguments(HELP "" "ROOM" "" ${ARGN})
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/*.md)
  muster_embed(help help ${HELP_ROOM} ${files})
endfunction()

function(muster_embed_sql folder)
  cmake_parse_arguments(SQL "" "ROOM" "" ${ARGN})
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/${folder}/*.sql)
  muster_embed(sql sql ${SQL_ROOM} ${files})
endfunction()
