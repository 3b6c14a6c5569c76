// Any text as a job in JSON, and as a job that a client has resolved: an answer or an error, and
// what was understood is understood the same way again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "app/server/intake.hpp"
#include "core/model/codec.hpp"
#include "core/spec/resolve.hpp"

namespace {

/// What the client sends is what the server reads.
void send(const muster::spec::ResolvedJob& job) {
  const auto spec = muster::decode_spec(muster::encode(job.spec));
  if (!spec || muster::encode(*spec) != muster::encode(job.spec)) std::abort();
  (void)muster::server::submission_json(job, true);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto spec = muster::decode_spec(text)) {
    const auto again = muster::decode_spec(muster::encode(*spec));
    if (!again || muster::encode(*again) != muster::encode(*spec)) std::abort();
  }
  const auto options = muster::spec::submit_options_from_json(text);
  if (!options) return 0;
  const auto written = muster::spec::to_json(*options);
  const auto again = muster::spec::submit_options_from_json(written);
  if (!again || muster::spec::to_json(*again) != written) std::abort();
  const muster::spec::Submitter submitter{.user = "ann", .dir = "/", .env = {{"PATH", "/bin"}}};
  if (const auto job = muster::spec::resolve(*options, {}, {}, submitter)) send(*job);
  return 0;
}
