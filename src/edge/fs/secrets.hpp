/// Secrets of this home: one file each (0600), named by people, never printed. A value that is
/// "secret://NAME" stands for one, in specs and files; only the job itself gets the bytes.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace muster::fs {

/// The name in "secret://NAME"; nothing when the value is no reference.
std::optional<std::string> secret_name(std::string_view value);

class Secrets {
 public:
  /// `dir` is made when the first one is set.
  explicit Secrets(std::string dir) : dir_(std::move(dir)) {}
  Result<> set(const std::string& name, std::string_view bytes) const;
  /// `not_found` with what to do; `denied` when others may read the file.
  Result<std::string> get(const std::string& name) const;
  std::vector<std::string> names() const;
  Result<> remove(const std::string& name) const;

 private:
  std::string dir_;
};

}  // namespace muster::fs
