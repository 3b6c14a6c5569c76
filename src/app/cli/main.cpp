/// The program's entry. By its name it is muster or get_cores; `muster shim --zygote` is the
/// process that starts jobs, everything else is a command line.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "app/api/start.hpp"
#include "app/cli/dispatch.hpp"
#include "edge/node/probe.hpp"
#include "edge/process/zygote.hpp"

namespace muster {

namespace {

bool is_internal(int argc, char** argv) {
  return argc >= 3 && std::string_view(argv[1]) == "shim" &&
         std::string_view(argv[2]) == "--zygote";
}

/// The one place where words that no person types are taken away from the verbs. The server gives
/// the zygote its socket as the first descriptor after stderr.
int run_internal() { return run_zygote(STDERR_FILENO + 1); }

int print_cores() {
  std::printf("%d\n", node::cores_for_job(process_environment()));
  return std::fflush(stdout) == 0 ? 0 : 1;
}

/// The one place where the way to the server is installed. Each call finds a server that answers:
/// the one of before, or a new one.
void install_api(Context& context) {
  // Shared by the copies a std::function may make of its target.
  auto kept = std::make_shared<std::unique_ptr<Api>>();
  context.open_api = [kept](Context& from) -> Result<Api*> {
    TRY(*kept, api::connect_or_start({.home = from.paths.state,
                                      .config_file = from.paths.config_file,
                                      .program = from.program,
                                      .env = from.env}));
    return kept->get();
  };
}

/// With a standard stream closed, the next file or socket would take its number, and text for a
/// person would go there.
void fill_standard_streams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd)
    if (::fcntl(fd, F_GETFD) < 0 && ::open("/dev/null", O_RDWR) != fd) ::_exit(70);
}

}  // namespace
}  // namespace muster

int main(int argc, char** argv) {
  muster::fill_standard_streams();
  const std::string_view program = argc > 0 ? argv[0] : "muster";
  if (program.substr(program.rfind('/') + 1) == "get_cores") return muster::print_cores();
  if (muster::is_internal(argc, argv)) return muster::run_internal();
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  return muster::run_command_line(words, muster::all_verbs(), muster::install_api);
}
