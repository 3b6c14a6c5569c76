/// A store of named, immutable objects: what snapshots, checkpoints and outputs are kept in.
/// Names are relative paths of plain characters ([a-z0-9._-], parts separated by '/'). Any thread.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace muster {

struct BlobInfo {
  std::string name;
  std::uint64_t size = 0;
  std::int64_t age_us = 0;  // since it was written, by the store's clock
};

struct BlobStore {
  virtual ~BlobStore() = default;
  /// Durable when it returns, whole or not at all. An object that is there already is left as it
  /// is.
  virtual Result<> put(const std::string& name, std::string_view bytes) = 0;
  /// The bytes from `offset`, at most `size`; fewer only at the end. `not_found` when absent.
  virtual Result<std::string> get(const std::string& name, std::uint64_t offset,
                                  std::uint64_t size) = 0;
  /// Size and age; `not_found` when absent.
  virtual Result<BlobInfo> look(const std::string& name) = 0;
  /// Every object whose name begins with `prefix`, in no order. False ends the listing.
  virtual Result<> list(const std::string& prefix,
                        const std::function<bool(const BlobInfo&)>& each) = 0;
  /// Gone when it returns; absent is well.
  virtual Result<> remove(const std::string& name) = 0;
  /// Held by senders together, by a collector alone. Given back when the value goes.
  enum class LockKind { shared, exclusive };
  virtual Result<std::shared_ptr<void>> lock(LockKind kind) = 0;
};

}  // namespace muster
