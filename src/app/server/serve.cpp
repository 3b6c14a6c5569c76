#include "app/server/serve.hpp"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <thread>

#include "app/cli/build.hpp"
#include "app/driver/real_clock.hpp"
#include "app/server/collection.hpp"
#include "app/server/env_keeper.hpp"
#include "app/server/equip.hpp"
#include "app/server/file_log.hpp"
#include "app/server/fleet.hpp"
#include "app/server/followers.hpp"
#include "app/server/home.hpp"
#include "app/server/machine_config.hpp"
#include "app/server/routes.hpp"
#include "app/server/unkept.hpp"
#include "app/server/unknown_jobs.hpp"
#include "base/text.hpp"
#include "edge/backends/kind.hpp"
#include "edge/fs/files.hpp"
#include "edge/http/code_door.hpp"
#include "edge/pods/code.hpp"
#include "edge/process/local_backend.hpp"
#include "edge/sqlite/store.hpp"

namespace muster::server {
namespace {

constexpr Duration kTick = std::chrono::seconds(2);

Result<std::unique_ptr<Backend>> open_backend(std::string_view name, const BackendDeps& deps) {
  for (const auto& kind : all_backends())
    if (kind.name == name) return kind.open(deps);
  return fail(Kind::unavailable,
              fmt::format("this build has no backend for clusters of kind {}", name));
}

std::string tier_of(const Backend& backend) {
  const auto* local = dynamic_cast<const LocalBackend*>(&backend);
  return local == nullptr ? "none" : std::string(local->tier());
}

/// As many descriptors as the system lets us have, no core dumps with secrets in them.
void set_limits() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
  }
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
}

Result<http::SharedFile> open_bundle(const std::string& id, const std::string& home) {
  TRY(auto fd, pods::bundle_of(id, home));
  return http::share_file(std::move(fd));
}

/// Waits for TERM or INT in a thread of its own.
class SignalWatch {
 public:
  explicit SignalWatch(std::function<void(int)> on_signal) {
    thread_ = std::thread([on_signal = std::move(on_signal)] {
      sigset_t set;
      ::sigemptyset(&set);
      for (const int number : {SIGTERM, SIGINT, SIGUSR1}) ::sigaddset(&set, number);
      int number = 0;
      while (::sigwait(&set, &number) == 0 && number != SIGUSR1) on_signal(number);
    });
  }
  ~SignalWatch() {
    ::pthread_kill(thread_.native_handle(), SIGUSR1);
    thread_.join();
  }

 private:
  std::thread thread_;
};

}  // namespace

/// Everything a server is made of, in the order it must be taken down in reverse.
class Household {
 public:
  explicit Household(ServeOptions options)
      : options_(std::move(options)),
        log_(options_.home + "/server.log", options_.verbose ? Level::debug : Level::info),
        envs_(options_.home + "/env"),
        machine_(options_.config_file, log_),
        unkept_(options_.home),
        collection_(options_.home, log_) {}

  Result<> open();
  void run();
  ~Household();

 private:
  Result<> open_store_and_clock();
  Result<> open_machine();
  Result<std::unique_ptr<Backend>> open_cluster(const spec::Profile& profile);
  Result<> open_threads();
  Result<> listen();
  Result<> open_door();
  driver::Equip noting_equip(driver::Equip equip);
  void tell_unknown_jobs();
  Defaults defaults();
  Result<Defaults> defaults_of(const std::string& cluster);
  void tick();
  bool is_reachable() const;

  ServeOptions options_;
  FileLog log_;
  EnvStore envs_;
  Build build_ = this_build();
  Tools tools_;
  std::unique_ptr<SqliteStore> store_;
  std::string home_id_;
  std::unique_ptr<driver::RealClock> clock_;
  MachineConfig machine_;
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Fleet> fleet_;
  std::unique_ptr<http::Server> http_;
  std::unique_ptr<http::CodeDoor> door_;
  ino_t socket_inode_ = 0;
  EnvKeeper keeper_;
  Unkept unkept_;
  Collection collection_;
  std::shared_ptr<const MachineView> known_view_;  // shared with readers; the intake's thread alone
  std::unique_ptr<driver::RealDriver> driver_;
  std::unique_ptr<Readers> readers_;
  std::unique_ptr<WorkPool> intake_;
  std::unique_ptr<Office> office_;
  std::unique_ptr<Followers> followers_;
};

Result<> Household::open() {
  TRY(tools_, install_tools(options_.home, build_.build_id));
  TRY_VOID(open_store_and_clock());
  TRY_VOID(open_machine());
  TRY_VOID(open_threads());
  return listen();
}

Result<> Household::open_store_and_clock() {
  TRY(store_, open_store(options_.home + "/store.db", log_));
  TRY(const auto boot, fs::boot_id());
  store_->set_boot_id(boot);
  TRY(const auto mark, store_->clock_mark());
  TRY(home_id_, store_->home_id());
  clock_ = std::make_unique<driver::RealClock>(
      driver::ClockBase{mark.run, mark.wall, mark.boot_id, mark.boottime_us}, boot);
  return {};
}

Result<> Household::open_machine() {
  TRY_VOID(machine_.open());
  TRY(backend_, open_backend("local", {.home = options_.home,
                                       .home_id = home_id_,
                                       .binary = tools_.binary,
                                       .build_id = build_.build_id,
                                       .nodes = machine_.current()->nodes,
                                       .cluster = {},
                                       .served_at = {},
                                       .log = log_}));
  fleet_ = std::make_unique<Fleet>(
      *backend_, machine_, *store_, log_,
      [this](const spec::Profile& profile) { return open_cluster(profile); },
      fs::exists(options_.home + "/kube"));
  return {};
}

Result<std::unique_ptr<Backend>> Household::open_cluster(const spec::Profile& profile) {
  return open_backend(profile.kind, {.home = options_.home,
                                     .home_id = home_id_,
                                     .binary = tools_.binary,
                                     .build_id = build_.build_id,
                                     .nodes = {},
                                     .cluster = profile,
                                     .served_at = options_.reached_as,
                                     .log = log_});
}

Result<> Household::open_threads() {
  const Places places{.home = options_.home, .home_id = home_id_, .tools_dir = tools_.dir};
  driver_ = std::make_unique<driver::RealDriver>(
      driver::DriverDeps{.store = *store_,
                         .backend = *fleet_,
                         .log = log_,
                         .equip = noting_equip(make_equip(*store_, envs_, places))},
      *clock_,
      [this](const driver::Turn& turn) {
        keeper_.note(turn.changed);
        unkept_.note(turn.changed);
        if (!turn.changed.empty()) followers_->wake();
      },
      [this] { (void)store_->checkpoint_if_idle(); });
  fleet_->on_change([this](std::vector<AttemptRef> refs) { driver_->hint(std::move(refs)); });
  known_view_ = machine_.current();
  readers_ = std::make_unique<Readers>(options_.home + "/store.db", 2);
  intake_ = std::make_unique<WorkPool>("intake", 1);
  office_ = std::unique_ptr<Office>(
      new Office{.about = {.home = options_.home,
                           .home_id = home_id_,
                           .version = build_.version,
                           .build_id = build_.build_id,
                           .tier = tier_of(*backend_),
                           .started = {fs::walltime_us()},
                           .is_automatic = options_.is_automatic},
                 .log = log_,
                 .clock = *clock_,
                 .driver = *driver_,
                 .readers = *readers_,
                 .intake = *intake_,
                 .envs = envs_,
                 .defaults = [this] { return defaults(); },
                 .defaults_of = [this](const std::string& cluster) { return defaults_of(cluster); },
                 .clusters = [this] { return fleet_->sights(); }});
  keeper_.attach(*readers_, envs_, fs::entries(options_.home + "/env"));
  unkept_.attach(*readers_);
  tell_unknown_jobs();
  followers_ = std::make_unique<Followers>(*office_);
  office_->followers = followers_.get();
  return {};
}

Result<> Household::listen() {
  TRY(http_,
      http::Server::listen({.socket_path = options_.home + "/socket"}, make_router(*office_)));
  office_->http = http_.get();
  struct stat socket{};
  if (::lstat((options_.home + "/socket").c_str(), &socket) == 0) socket_inode_ = socket.st_ino;
  driver_->start();
  return open_door();
}

/// After the driver: it knows which attempts live.
Result<> Household::open_door() {
  if (!options_.listen) return {};
  TRY(door_,
      http::CodeDoor::open(
          *options_.listen,
          {.may_take = [this](
                           std::string_view token,
                           std::string_view snapshot) { return fleet_->may_take(token, snapshot); },
           .open = [this](const std::string& id) { return open_bundle(id, options_.home); }}));
  log_.info("pods get their code here", {{"port", door_->port()}, {"as", options_.reached_as}});
  return {};
}

/// Before anything of a job that keeps nothing is there, it is known.
driver::Equip Household::noting_equip(driver::Equip equip) {
  return [this, equip = std::move(equip)](const Launch& launch) {
    auto equipment = equip(launch);
    if (equipment && equipment->plan->folder.keep == Keep::none) unkept_.begun(launch.ref.job);
    return equipment;
  };
}

/// An empty store over a full jobs/ is not what anybody wanted.
void Household::tell_unknown_jobs() {
  readers_->run(
      [this](Records& records) {
        const auto unknown = unknown_jobs(records, options_.home);
        if (!unknown || unknown->count == 0) return;
        log_.warn("folders of jobs that the store does not know; was store.db removed?",
                  {{"folders", unknown->count}, {"first", unknown->first}});
      },
      [](const Error&) {});
}

/// A changed configuration counts from the next submission on, for the nodes as well.
Defaults Household::defaults() {
  const auto view = machine_.current();
  if (view != known_view_) driver_->look_at_everything();
  known_view_ = view;
  return {view->profile, view->nodes};
}

/// Of one cluster, and the nodes that are its own.
Result<Defaults> Household::defaults_of(const std::string& cluster) {
  (void)defaults();
  const auto view = machine_.current();
  std::vector<std::string> names;
  for (const auto& profile : view->profiles) {
    names.push_back(profile.name);
    if (profile.name != cluster) continue;
    Defaults found{profile, {}};
    std::copy_if(view->nodes.begin(), view->nodes.end(), std::back_inserter(found.nodes),
                 [&](const Node& node) { return node.cluster == cluster; });
    return found;
  }
  return fail(Kind::not_found,
              fmt::format("the server knows no cluster \"{}\"", printable(cluster)),
              fmt::format("known clusters: {}", printable(join(names, ", "))));
}

/// Somebody may have removed the home, or put another server in our place.
bool Household::is_reachable() const {
  struct stat now{};
  return ::lstat((options_.home + "/socket").c_str(), &now) == 0 && now.st_ino == socket_inode_;
}

/// Exits when idle and empty; keeps followers alive; forgets environments and outputs nobody needs.
void Household::tick() {
  if (!is_reachable()) {
    log_.error("the socket is gone or another's: nobody can reach this server; stopping");
    return http_->stop();
  }
  followers_->heartbeat();
  keeper_.sweep();
  unkept_.sweep();
  collection_.tick(tools_.binary);
  const bool is_empty = driver_->picture()->live_jobs == 0 && followers_->count() == 0;
  const auto quiet = std::chrono::steady_clock::now() - http_->last_activity();
  if (options_.is_automatic && is_empty && quiet > options_.idle) {
    log_.info("idle and empty: stopping");
    return http_->stop();
  }
  http_->after(std::min(kTick, options_.idle), [this] { tick(); });
}

void Household::run() {
  const SignalWatch signals([this](int) { http_->stop(); });
  tick();
  log_.info("serving", {{"pid", ::getpid()},
                        {"home", options_.home},
                        {"version", build_.version},
                        {"build", build_.build_id},
                        {"tier", office_->about.tier}});
  options_.on_ready();
  if (options_.ready_fd >= 0) {
    (void)!::write(options_.ready_fd, "ok\n", 3);
    ::close(options_.ready_fd);
  }
  http_->run();
  log_.info("stopping");
}

/// Down, in order: nobody asks any more, the last turn ends, running jobs go on without us.
Household::~Household() {
  door_.reset();
  intake_.reset();
  readers_.reset();
  if (driver_) driver_->stop();
  fleet_.reset();  // watchers give hints to the driver until here
  backend_.reset();
  if (store_) (void)store_->checkpoint_if_idle();
}

Result<> serve(const ServeOptions& options) {
  ::umask(077);
  set_limits();
  TRY_VOID(prepare_home(options.home));
  TRY(const auto lock, lock_home(options.home));
  {
    Household household(options);
    TRY_VOID(household.open());
    household.run();
  }
  (void)fs::remove_file(options.home + "/server.pid");
  return {};
}

}  // namespace muster::server
