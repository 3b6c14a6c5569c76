/// A folder, a store and a cache for tests of snapshots, and pictures of trees to compare.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/rng.hpp"
#include "edge/blob/file_store.hpp"
#include "edge/tree/send.hpp"
#include "unit/edge_sqlite/builders.hpp"

namespace muster::test {

/// Everything a snapshot keeps, by path: kind, mode, target, bytes and holes.
using Picture = std::map<std::string, std::string>;
Picture picture_of(const std::string& top);
/// What is different, in words; empty when nothing is.
std::string difference(const Picture& a, const Picture& b);

/// Bytes that no compression makes smaller.
std::string noise(Rng& rng, std::size_t size);

class Lab {
 public:
  Lab();
  ~Lab();
  Lab(const Lab&) = delete;
  Lab& operator=(const Lab&) = delete;

  std::string top() const { return folder_.file("top"); }
  std::string path(const std::string& name) const { return top() + "/" + name; }
  std::string cache() const { return folder_.file("cache"); }
  std::string store() const { return folder_.file("store"); }
  /// A new folder beside the others.
  std::string room(const std::string& name) const;
  BlobStore& blobs() { return blobs_; }

  /// Folders above are made.
  void file(const std::string& name, std::string_view bytes = "x\n", unsigned mode = 0644) const;
  void dir(const std::string& name, unsigned mode = 0755) const;
  void link(const std::string& name, const std::string& target) const;
  void remove(const std::string& name) const;

  snapshot::SendOptions options() const;
  snapshot::Sent send();
  /// What it would be without a cache, into a store of its own.
  tree::Hash id_without_cache();
  /// Restores into a new folder, and gives its picture.
  Picture restored(const tree::Hash& id);
  /// Passes when whatever is changed from now on gets a later time than what is there.
  void let_the_clock_tick() const;
  /// Objects of the store whose names begin so, with their sizes.
  std::map<std::string, std::uint64_t> objects(const std::string& prefix = "");

 private:
  TempFolder folder_;
  FileStore blobs_;
  int rooms_ = 0;
};

/// A tree of strange things, the same for the same seed; more of them the larger `size` is.
void make_strange_tree(const Lab& lab, std::uint64_t seed, int size);

/// Runs it in a child. The exit status, or minus the signal that ended it.
int in_child(const std::function<int()>& work);
/// Runs it in a child that is killed when it has worked for `life_us`, unless it is done before:
/// then this is how long it took.
std::optional<std::uint64_t> killed_in_child(const std::function<void()>& work,
                                             std::uint64_t life_us);

}  // namespace muster::test
