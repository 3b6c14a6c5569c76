/// The steps by which a file of a store comes to be there for good. Any thread.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace muster::blob {

/// A failed system call on a store; a full disk is said in words.
tl::unexpected<Error> fail_on_disk(const std::string& store, std::string what, int error_number);

/// What files and folders get, whatever the umask.
struct Modes {
  unsigned file = 0600;
  unsigned folder = 0700;
};
/// Whether the kernel goes on holding in memory what is on disk.
enum class InMemory { stays, goes };

struct Placing {
  Modes modes;
  InMemory memory = InMemory::stays;
};

/// Writes a file of its own in `temporaries`, syncs it, and gives it the name `path`, unless
/// something has that name: then that stays. The folder of `path` is not synced yet.
Result<> place_new(const std::string& store, const std::string& temporaries,
                   const std::string& path, std::string_view bytes, const Placing& how);
/// Makes the folder and those above it; no error if they are there.
Result<> make_folders(const std::string& store, const std::string& path, const Modes& modes);
Result<> sync_folder(const std::string& store, const std::string& path);
/// Names in a folder, in no order; none when it is not there.
Result<std::vector<std::string>> names_in(const std::string& path);
/// "/a" for "/a/b"; "/" for "/a".
std::string folder_of(const std::string& path);

}  // namespace muster::blob
