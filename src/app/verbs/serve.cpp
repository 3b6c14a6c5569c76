#include "app/server/serve.hpp"

#include <unistd.h>

#include <csignal>

#include "app/api/error_json.hpp"
#include "app/cli/output.hpp"
#include "app/cli/stop_server.hpp"
#include "app/cli/verb.hpp"
#include "base/units.hpp"
#include "core/model/json.hpp"

namespace muster {
namespace {

/// The server's threads inherit this: signals go to the one thread that waits for them.
void block_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int number : {SIGTERM, SIGINT, SIGUSR1, SIGHUP}) ::sigaddset(&set, number);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
}

Result<int> stop(Context& context) {
  TRY(const bool was_running, stop_server(context.paths.state));
  say(context, was_running ? "the server has stopped; running jobs go on" : "no server is running");
  return 0;
}

Result<> read_listen(const Parsed& parsed, server::ServeOptions& options) {
  const auto listen = parsed.value("listen"), as = parsed.value("reached-as");
  if (!listen && as)
    return fail(Kind::usage, "--reached-as says how pods reach what --listen opens",
                "muster serve --listen :7800 --reached-as HOST:7800");
  if (!listen) return {};
  TRY(options.listen, within(http::parse_tcp_address(*listen), "--listen"));
  options.reached_as = as.value_or(*listen);
  TRY(const auto known, within(http::parse_tcp_address(options.reached_as), "--reached-as"));
  if (known.host.empty() || known.host == "0.0.0.0" || known.host == "::")
    return fail(Kind::usage, "it is not said how pods reach this server",
                "add --reached-as HOST:PORT, or listen on one address: --listen HOST:PORT");
  return {};
}

Result<int> run(Context& context, const Parsed& parsed) {
  if (parsed.has("stop")) return stop(context);
  server::ServeOptions options{.home = context.paths.state,
                               .config_file = context.paths.config_file,
                               .is_automatic = parsed.has("background"),
                               .verbose = context.globals.verbose};
  if (const auto file = parsed.value("config-file")) options.config_file = *file;
  if (const auto idle = parsed.value("idle")) {
    TRY(options.idle, parse_duration(*idle));
  }
  TRY_VOID(read_listen(parsed, options));
  if (const auto fd = parsed.value("ready-fd")) {
    TRY(const auto number, parse_whole(*fd, 0, 1023));
    options.ready_fd = static_cast<int>(number);
  }
  block_signals();
  if (!options.is_automatic)
    options.on_ready = [&context] {
      say(context, fmt::format("serving {}; stop it with Ctrl-C or muster serve --stop",
                               context.paths.state));
    };
  const auto served = server::serve(options);
  if (!served && options.ready_fd >= 0) {
    const auto text = api::error_to_json(served.error()) + "\n";
    (void)!::write(options.ready_fd, text.data(), text.size());
  }
  TRY_VOID(served);
  return 0;
}

}  // namespace

Verb verb_serve() {
  return {.name = "serve",
          .aliases = {},
          .group = "About muster",
          .summary = "Run the server in the foreground, or stop it",
          .usage = "serve [--stop] [--listen HOST:PORT]",
          .operands = Operands::none,
          .options = {{.name = "stop", .text = "stop this home's server; running jobs go on"},
                      {.name = "listen",
                       .value = "HOST:PORT",
                       .text = "give the pods of a cluster their code there, nothing else"},
                      {.name = "reached-as",
                       .value = "HOST:PORT",
                       .text = "how pods reach that address, where it is another for them"},
                      {.name = "background",
                       .text = "exit when idle and empty",
                       .group = "Used by muster itself"},
                      {.name = "idle",
                       .value = "TIME",
                       .text = "how long that is (10m)",
                       .group = "Used by muster itself"},
                      {.name = "config-file",
                       .value = "FILE",
                       .text = "the configuration to read",
                       .group = "Used by muster itself"},
                      {.name = "ready-fd",
                       .value = "N",
                       .text = "say there when it serves",
                       .group = "Used by muster itself"}},
          .run = run};
}

}  // namespace muster
