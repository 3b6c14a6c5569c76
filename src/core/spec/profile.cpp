#include "base/text.hpp"
#include "core/spec/config.hpp"
#include "core/spec/config_keys.hpp"

// Weighs the layers: which profile inherits from which, and who wins each key.
namespace muster::spec {
namespace {

bool is_known(const Config& config, std::string_view profile) {
  return profile == "local" || std::any_of(config.profiles.begin(), config.profiles.end(),
                                           [&](const auto& l) { return l.profile == profile; });
}

tl::unexpected<Error> no_profile(const Config& config, std::string_view profile) {
  const auto known = profile_names(config);
  const auto near = nearest(profile, known);
  auto failed = fail(Kind::not_found, fmt::format("no cluster \"{}\"", printable(profile)));
  if (near) failed.value().fix.push_back(fmt::format("did you mean \"{}\"?", *near));
  failed.value().fix.push_back(fmt::format("known clusters: {}", printable(join(known, ", "))));
  return failed;
}

/// The settings of one profile's own layers, the stronger file first.
struct Own {
  std::vector<Setting> settings;
  const ProfileLayer* based = nullptr;  // the layer whose _base_ wins
  std::string base_place;               // of its line
};

Own own_settings(const Config& config, std::string_view profile) {
  Own own;
  for (const auto& layer : config.profiles) {
    if (layer.profile != profile) continue;
    own.settings.insert(own.settings.end(), layer.settings.begin(), layer.settings.end());
    if (own.based != nullptr || !layer.base) continue;
    own.based = &layer;
    for (const auto& setting : layer.settings)
      if (setting.key == "_base_") own.base_place = setting.origin.place;
  }
  return own;
}

/// The profile's settings and then those of its bases, nearest first.
Result<std::vector<Setting>> inherited(const Config& config, std::string_view profile) {
  std::vector<Setting> all;
  std::vector<std::string> chain{std::string(profile)};
  for (;;) {
    auto own = own_settings(config, chain.back());
    for (auto& setting : own.settings) {
      if (chain.size() > 1) {
        if (setting.key == "_base_") continue;  // the base's own business
        setting.origin.layer = Layer::base;
      }
      all.push_back(std::move(setting));
    }
    if (own.based == nullptr) return all;
    const std::string& base = *own.based->base;
    const bool is_cycle = std::find(chain.begin(), chain.end(), base) != chain.end();
    chain.push_back(base);
    if (is_cycle) {
      auto failed =
          fail(Kind::usage,
               fmt::format("_base_ goes round in a circle: {}", printable(join(chain, " -> "))),
               "remove one of these _base_ lines");
      failed.value().where = own.base_place;
      return failed;
    }
    if (!is_known(config, base)) {
      auto failed = no_profile(config, base);
      failed.value().kind = Kind::usage;
      failed.value().where = own.base_place;
      failed.value().why = "_base_ names another cluster of the configuration, not a file";
      return failed;
    }
  }
}

}  // namespace

std::vector<std::string> profile_names(const Config& config) {
  std::vector<std::string> names{"local"};
  for (const auto& layer : config.profiles)
    if (std::find(names.begin(), names.end(), layer.profile) == names.end())
      names.push_back(layer.profile);
  return names;
}

Result<std::vector<Setting>> settings_of(const Config& config, std::string_view profile) {
  if (!is_known(config, profile)) return no_profile(config, profile);
  std::vector<Setting> all = config.environment;
  TRY(auto files, inherited(config, profile));
  std::move(files.begin(), files.end(), std::back_inserter(all));
  for (auto& setting : built_in_settings()) all.push_back(std::move(setting));
  // By key; within one key the order of strength stays.
  std::stable_sort(all.begin(), all.end(),
                   [](const Setting& a, const Setting& b) { return a.key < b.key; });
  return all;
}

Result<Profile> profile_of(const Config& config, std::string_view profile) {
  TRY(const auto settings, settings_of(config, profile));
  Profile made;
  made.name = profile;
  std::string_view last;
  for (const auto& setting : settings) {
    if (setting.key == last) continue;
    last = setting.key;
    TRY_VOID(within(apply(made, setting), to_text(setting.origin)));
  }
  return made;
}

}  // namespace muster::spec
