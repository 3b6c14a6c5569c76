// Any bytes as a kubeconfig, and as addresses in it: values or an error, never a crash.
#include "edge/kube/kubeconfig.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "edge/kube/url.hpp"

// libfyaml 0.7.12 loses some hundred bytes on a few broken texts; that is not what is looked for.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muster::kube;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)is_exempt("host.example.org", text);
  (void)is_exempt("10.0.0.1", text);
  if (const auto url = parse_url(text)) {
    // What was understood is understood the same way again.
    const auto again = parse_url(url->scheme + "://" + url->authority() + url->path);
    if (!again || again->host != url->host || again->port != url->port) std::abort();
  }
  const auto config = parse_kubeconfig(text, "/fuzz/config");
  if (!config) return 0;
  const auto both = merged(*config, *config);
  if (both.contexts.size() != config->contexts.size()) std::abort();
  for (const auto& context : both.contexts) (void)target_of(both, context.name);
  return 0;
}
