#include "app/cli/build.hpp"

#include <elf.h>
#include <link.h>

#include <cstring>
#include <string_view>

#include "base/text.hpp"

// The build may say otherwise with -DMUSTER_VERSION="..." and -DMUSTER_COMMIT="...".
#ifndef MUSTER_VERSION
#define MUSTER_VERSION "0.1.0"
#endif
#ifndef MUSTER_COMMIT
#define MUSTER_COMMIT ""
#endif

namespace muster {
namespace {

constexpr std::size_t aligned(std::size_t size) { return (size + 3) / 4 * 4; }

std::string build_id_in(const char* notes, std::size_t size) {
  std::size_t at = 0;
  while (at + sizeof(ElfW(Nhdr)) <= size) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes + at, sizeof note);
    const char* name = notes + at + sizeof note;
    const char* bytes = name + aligned(note.n_namesz);
    at += sizeof note + aligned(note.n_namesz) + aligned(note.n_descsz);
    if (at > size) break;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0)
      return to_hex(std::string_view(bytes, note.n_descsz));
  }
  return {};
}

/// The first object is the program itself; returning 1 ends the walk there.
int look_at_program(dl_phdr_info* object, std::size_t, void* out) {
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& part = object->dlpi_phdr[i];
    if (part.p_type != PT_NOTE) continue;
    const auto* notes = reinterpret_cast<const char*>(object->dlpi_addr + part.p_vaddr);
    auto id = build_id_in(notes, part.p_memsz);
    if (!id.empty()) *static_cast<std::string*>(out) = std::move(id);
  }
  return 1;
}

}  // namespace

Build this_build() {
  Build build{.version = MUSTER_VERSION, .build_id = {}, .commit = MUSTER_COMMIT};
  ::dl_iterate_phdr(look_at_program, &build.build_id);
  return build;
}

}  // namespace muster
