/// What a verb gets of the world: streams, environment, places, the way to the server. The only
/// place that reads the process's environment. Owned by main; one thread.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "app/cli/parsed.hpp"
#include "app/cli/paths.hpp"
#include "base/error.hpp"
#include "core/model/plan.hpp"

namespace muster {

struct Api;

/// Where text goes. A failed write is remembered, and told once at the end.
struct Writer {
  virtual ~Writer() = default;
  virtual void write(std::string_view bytes) = 0;
  virtual Result<> finish() = 0;
  /// Nothing written from now on arrives.
  virtual bool is_broken() const { return false; }
};
/// Writes to a descriptor it does not own, at once and whole.
std::unique_ptr<Writer> fd_writer(int fd, std::string name);

struct Context {
  std::unique_ptr<Writer> out;  // the answer
  std::unique_ptr<Writer> err;  // the conversation
  bool in_is_tty = false;
  bool out_is_tty = false;
  bool err_is_tty = false;
  std::size_t width = 0;  // columns of the terminal; 0: no limit
  bool color = false;     // on stdout
  bool err_color = false;
  Environment env;
  Paths paths;
  std::string dir;      // the current folder, as the person's shell calls it
  std::string user;     // the name of the account
  std::string program;  // this program's file, to start it again
  Globals globals;
  /// Installed by main: connects to the server, and starts one where there is none.
  std::function<Result<Api*>(Context&)> open_api;

  Result<Api*> api();
};

/// The environment of this process; of two entries of one name the first counts.
Environment process_environment();
/// Reads the world: environment, terminals, folder, account. Fails when there is no home at all.
Result<Context> make_context(const Globals& globals);
/// The same without places, for what must work in any case (help, version, messages).
Context make_bare_context(const Globals& globals);

/// The name and home folder of an account, from a passwd file's text.
struct Account {
  std::string name;
  std::string home;
};
std::optional<Account> find_account(std::string_view passwd, unsigned uid);

}  // namespace muster
