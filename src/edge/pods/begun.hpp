/// Launches that may have left objects in the cluster without a Job that owns them: one empty file
/// for each in the home, from before the first object is made until the Job owns all of them or all
/// are gone. A server that comes after one that was killed finds there what it may not list in the
/// cluster. Thread-safe: each name is a file of its own.
#pragma once
#include <string>
#include <vector>

namespace muster::pods {

class Begun {
 public:
  /// `place` names the cluster and the namespace.
  Begun(const std::string& home, const std::string& place);

  void add(const std::string& name) const;
  void remove(const std::string& name) const;
  std::vector<std::string> names() const;

 private:
  std::string dir_;
};

}  // namespace muster::pods
