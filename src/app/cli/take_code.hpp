/// Takes the snapshot a job runs: finds the folder, sends what changed, says what is large. One for
/// each command line; jobs of one folder share a snapshot. One thread.
#pragma once
#include <map>
#include <string>

#include "app/cli/context.hpp"
#include "core/spec/resolve.hpp"
#include "edge/tree/send.hpp"

namespace muster {

/// The folder that is taken for a job that runs in `dir`: the nearest one upwards with a
/// muster.yaml, .musterignore, .amlignore or .git, else `dir`. Empty: nothing that should be taken
/// (the home folder, /).
std::string code_top(const std::string& dir, const std::string& home);

/// A folder's code, and what it took to send it.
struct Taken {
  Code code;
  snapshot::Sent sent;
};

class CodeTaker {
 public:
  explicit CodeTaker(Context& context) : context_(context) {}
  /// Lets the snapshots go: the jobs that hold them are committed, or there will be none.
  ~CodeTaker();
  CodeTaker(const CodeTaker&) = delete;
  CodeTaker& operator=(const CodeTaker&) = delete;

  /// Fills the code of a job that wants a snapshot.
  Result<> take(spec::ResolvedJob& job);
  /// The snapshot of a folder, whether or not a job wants it.
  Result<Code> take_folder(const std::string& top, bool allow_racy);
  /// The same, and how it was sent.
  Result<Taken> send_folder(const std::string& top, bool allow_racy);

 private:
  Result<> hold(std::string& wanted);
  void leave_links(Code& code);
  void tell_large(const std::string& top, const std::string& cache_file);

  Context& context_;
  std::map<std::string, Taken> taken_;  // by top
  std::vector<std::string> pins_;
};

/// The store of this home's snapshots.
std::string own_store(const Context& context);

}  // namespace muster
