/// A blob store in a folder: an object is a file. `file:///path`. Any thread, any process of any
/// machine that sees the folder.
#pragma once
#include <atomic>
#include <mutex>
#include <set>
#include <string>

#include "edge/blob/durable.hpp"
#include "port/blob.hpp"

namespace muster {

class FileStore final : public BlobStore {
 public:
  /// Whom new objects are for. `owner`: nobody else; `as_folder`: whoever may read the store's
  /// folder, which then must be there. Its folders are open as that one is.
  enum class Access : std::uint8_t { owner, as_folder };
  /// The folder is made when the first object comes, for its owner only.
  explicit FileStore(std::string folder, Access access = Access::owner);

  Result<> put(const std::string& name, std::string_view bytes) override;
  Result<std::string> get(const std::string& name, std::uint64_t offset,
                          std::uint64_t size) override;
  Result<BlobInfo> look(const std::string& name) override;
  Result<> list(const std::string& prefix,
                const std::function<bool(const BlobInfo&)>& each) override;
  Result<> remove(const std::string& name) override;
  /// Waits for a shared lock; an exclusive one is had at once or not at all (`unavailable`): who
  /// collects can come back later. With it, old temporaries go.
  Result<std::shared_ptr<void>> lock(LockKind kind) override;

  /// Removes what puts that were killed more than a day ago left behind. How many there were.
  Result<int> sweep_temporaries();

 private:
  Result<std::string> path_of(const std::string& name) const;
  Result<blob::Modes> modes() const;
  /// The folder and those above it, up to the store's, are there and survive power loss.
  Result<> make_durable_folder(const std::string& path);

  std::string folder_;
  Access access_;
  std::atomic<std::uint64_t> written_ = 0;  // bytes of objects, since it was opened
  std::mutex mutex_;
  std::set<std::string> durable_;  // folders known to survive power loss
};

}  // namespace muster
