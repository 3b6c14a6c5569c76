#include "app/agent/code.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/text.hpp"
#include "edge/blob/file_store.hpp"
#include "edge/blob/open.hpp"
#include "edge/fs/files.hpp"
#include "edge/fs/remove_tree.hpp"
#include "edge/process/clocks.hpp"
#include "edge/tree/bundle.hpp"
#include "edge/tree/names.hpp"
#include "edge/tree/restore.hpp"

namespace muster::agent {
namespace {

constexpr std::string_view kBundle = "bundle://";
constexpr std::string_view kStream = "stream://";
constexpr const char* kReceived = "received";  // holds the id, once all of it is there

snapshot::Source source_of(int fd) {
  return [fd](char* into, std::size_t most) -> Result<std::size_t> {
    for (;;) {
      const auto got = ::read(fd, into, most);
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno != EINTR) return fail_errno("cannot read the bundle", errno);
    }
  };
}

void pause_briefly() {
  const timespec pause{0, 100'000'000};
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
    TRY(const auto blobs, open_blob_store(address));
    return restore_from(*blobs);
  }

  Result<> from_bundle(const std::string& path) {
    const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return fail_errno("cannot open the bundle", errno);
    const auto folder = places_.run() + "/bundle";
    FileStore blobs(folder);
    TRY(const auto id, snapshot::read_bundle(blobs, source_of(file.get())));
    if (id != id_)
      return fail(Kind::corrupt,
                  fmt::format("the bundle holds another snapshot, {}", tree::to_hex(id)));
    TRY_VOID(restore_from(blobs));
    fs::remove_tree(folder);
    return {};
  }

  Result<> from_stream(const std::string& folder) {
    FileStore blobs(folder);
    const auto until = process::monotonic_now() + patience_;
    while (!blobs.look(snapshot::tree_name(id_))) {
      if (process::monotonic_now() >= until)
        return fail(Kind::unavailable, "the code did not arrive in time",
                    "it is sent by exec into the pod: may the server do that?");
      pause_briefly();
    }
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

/// What is told once the whole of it is there.
std::string received_in(const std::string& dir) {
  return fs::read_file(dir + "/" + kReceived, 256).value_or("");
}

}  // namespace

Result<> take_code(const FolderPlan& plan, const Places& places, const std::string& into,
                   Duration patience) {
  const auto id = tree::from_hex(plan.snapshot);
  if (!id) return fail(Kind::corrupt, fmt::format("not a snapshot: {}", printable(plan.snapshot)));
  return within(Delivery(plan, *id, places, into, patience).run(), "the job's code");
}

Result<std::string> receive_code(int fd, const std::string& dir, Duration patience) {
  FileStore blobs(dir);
  const auto id = snapshot::read_bundle(blobs, source_of(fd));
  if (id) {
    TRY_VOID(fs::write_whole(dir + "/" + kReceived, tree::to_hex(*id)));
    return tree::to_hex(*id);
  }
  if (id.error().kind != Kind::not_found) return tl::unexpected<Error>(id.error());
  const auto until = process::monotonic_now() + patience;
  for (;;) {
    if (auto other = received_in(dir); !other.empty()) return other;
    if (process::monotonic_now() >= until)
      return fail(Kind::unavailable, "no code came on stdin, and nobody else brought any",
                  "send a bundle to: muster agent receive DIR");
    pause_briefly();
  }
}

}  // namespace muster::agent
