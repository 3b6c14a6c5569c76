// Any bytes as YAML and as a configuration: an answer or an error, never a crash or a long wait.
#include "core/spec/yaml.hpp"

#include <cstddef>
#include <cstdint>

#include "core/spec/config.hpp"

// libfyaml 0.7.12 loses some hundred bytes on a few broken texts; that is not what is looked for.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)muster::spec::parse_yaml(text, "fuzz.yaml");
  muster::spec::ConfigSources sources;
  sources.user = muster::spec::ConfigFile{"fuzz.yaml", std::string(text)};
  const auto config = muster::spec::read_config(sources);
  if (!config) return 0;
  for (const auto& name : muster::spec::profile_names(*config))
    (void)muster::spec::profile_of(*config, name);
  return 0;
}
