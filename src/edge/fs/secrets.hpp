/// Values by reference, which only the job itself gets: "secret://NAME" is a secret of this home (a
/// file each, 0600, named by people, never printed), "secret://file:/path" a file of the person's
/// own, "secret://env:NAME" a variable of the shell that submits.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace muster::fs {

struct SecretRef {
  enum class From { home, file, env };
  From from = From::home;
  std::string name;  // or the path
};
/// Nothing when the value is no reference.
std::optional<SecretRef> secret_ref(std::string_view value);

class Secrets {
 public:
  /// `dir` is made when the first one is set.
  explicit Secrets(std::string dir) : dir_(std::move(dir)) {}
  /// What may name one; usage otherwise.
  static Result<> check(const std::string& name);
  Result<> set(const std::string& name, std::string_view bytes) const;
  /// `not_found` with what to do; `denied` when others may read the file.
  Result<std::string> get(const std::string& name) const;
  /// What a reference stands for. Files must be the user's own and closed to others. A variable
  /// cannot be known here: who submits has put its value in place of the reference.
  Result<std::string> get(const SecretRef& ref) const;
  Result<std::vector<std::string>> names() const;
  Result<> remove(const std::string& name) const;

 private:
  std::string dir_;
};

}  // namespace muster::fs
