#include "app/agent/code.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <functional>

#include "base/text.hpp"
#include "edge/blob/file_store.hpp"
#include "edge/blob/open.hpp"
#include "edge/fs/files.hpp"
#include "edge/fs/remove_tree.hpp"
#include "edge/process/clocks.hpp"
#include "edge/tree/bundle_file.hpp"
#include "edge/tree/names.hpp"
#include "edge/tree/restore.hpp"

namespace muster::agent {
namespace {

constexpr std::string_view kBundle = "bundle://";
constexpr std::string_view kStream = "stream://";
constexpr std::string_view kServer = "http://";

void pause_briefly() {
  const timespec pause{0, 100'000'000};
  ::nanosleep(&pause, nullptr);
}

tl::unexpected<Error> another(const tree::Hash& id) {
  return fail(Kind::corrupt,
              fmt::format("the bundle holds another snapshot, {}", tree::to_hex(id)));
}

/// The root is stored last: when it is there, all is.
Result<> wait_for(
    BlobStore& blobs, const tree::Hash& id, Duration patience,
    const std::function<void()>& meanwhile = [] {}) {
  const auto until = process::monotonic_now() + patience;
  while (!blobs.look(snapshot::tree_name(id))) {
    if (process::monotonic_now() >= until)
      return fail(Kind::unavailable, "the code did not arrive in time",
                  "it is sent by exec into the pod: may the server do that?");
    pause_briefly();
    meanwhile();
  }
  return {};
}

/// One try; where it fails, somebody may send the code here instead.
void ask_peer(const Receiving& order, BlobStore& blobs) {
  if (!order.peer) return;
  // What is not the snapshot stays without a root, and is asked for again.
  if (const auto file = pull_once(*order.peer, order.dir))
    if (snapshot::read_bundle(blobs, snapshot::source_of(file->get()))) return;
  const timespec pause{0, 400'000'000};  // many may be asking
  ::nanosleep(&pause, nullptr);
}

class Delivery {
 public:
  Delivery(const FolderPlan& plan, const tree::Hash& id, const Places& places, std::string into,
           Duration patience)
      : plan_(plan), id_(id), places_(places), into_(std::move(into)), patience_(patience) {}

  Result<> run() {
    const auto usual = fs::exists(places_.secret())
                           ? fmt::format("{}{}", kBundle, places_.secret())
                           : fmt::format("{}{}", kStream, places_.stream());
    const auto all = split(plan_.store.empty() ? usual : plan_.store, '\n');
    Result<> last;
    for (const auto address : all) {
      last = within(from(address), printable(address));
      if (last || last.error().kind != Kind::not_found)
        break;  // only who does not have it is passed
    }
    return last;
  }

 private:
  Result<> from(std::string_view address) {
    if (address.starts_with(kBundle))
      return from_bundle(std::string(address.substr(kBundle.size())));
    if (address.starts_with(kStream))
      return from_stream(std::string(address.substr(kStream.size())));
    if (address.starts_with(kServer)) return from_server(address);
    TRY(const auto blobs, open_blob_store(address));
    if (const auto there = blobs->look(snapshot::tree_name(id_));
        !there && there.error().kind == Kind::not_found)
      return fail(Kind::not_found, "the store does not have the job's code",
                  "is the folder of the profile's store on the volume of its claim?");
    return restore_from(*blobs);
  }

  Result<> from_bundle(const std::string& path) {
    const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return fail_errno("cannot open the bundle", errno);
    return from_file(file.get());
  }

  Result<> from_file(int fd) {
    const auto folder = places_.run() + "/bundle";
    FileStore blobs(folder);
    TRY(const auto id, snapshot::read_bundle(blobs, snapshot::source_of(fd)));
    if (id != id_) return another(id);
    TRY_VOID(restore_from(blobs));
    fs::remove_tree(folder);
    return {};
  }

  Result<> from_server(std::string_view address) {
    TRY(const auto source, source_at(address, plan_.token, id_));
    TRY(const auto file, pull(source, places_.run(), patience_));
    return from_file(file.get());
  }

  Result<> from_stream(const std::string& folder) {
    FileStore blobs(folder);
    TRY_VOID(wait_for(blobs, id_, patience_));
    return restore_from(blobs);
  }

  Result<> restore_from(BlobStore& blobs) {
    TRY_VOID(blobs.look(snapshot::tree_name(id_)));
    fs::remove_tree(into_);
    TRY_VOID(fs::make_dirs(into_, 0755));
    snapshot::Chunks chunks(blobs);
    return snapshot::restore(chunks, id_, into_);
  }

  const FolderPlan& plan_;
  tree::Hash id_;
  const Places& places_;
  std::string into_;
  Duration patience_;
};

}  // namespace

Result<tree::Hash> snapshot_of(const FolderPlan& plan) {
  if (const auto id = tree::from_hex(plan.snapshot)) return *id;
  return fail(Kind::corrupt, fmt::format("not a snapshot: {}", printable(plan.snapshot)));
}

Result<> take_code(const FolderPlan& plan, const Places& places, const std::string& into,
                   Duration patience) {
  TRY(const auto id, snapshot_of(plan));
  return within(Delivery(plan, id, places, into, patience).run(), "the job's code");
}

Result<> receive_code(int fd, const Receiving& order) {
  // The job's own container may run as another user than this one.
  FileStore blobs(order.dir, FileStore::Access::as_folder);
  if (blobs.look(snapshot::tree_name(order.id))) return {};
  TRY_VOID(fs::make_dirs(order.dir, 0755));
  const auto came = snapshot::read_bundle(blobs, snapshot::source_of(fd));
  if (came) return *came == order.id ? Result<>() : another(*came);
  if (came.error().kind != Kind::not_found) return tl::unexpected<Error>(came.error());
  return wait_for(blobs, order.id, order.patience, [&] { ask_peer(order, blobs); });
}

bool is_streamed(const FolderPlan& plan, const Places& places) {
  return !plan.snapshot.empty() && plan.store.empty() && !fs::exists(places.secret());
}

}  // namespace muster::agent
