#include "edge/process/setup_env.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace muster::process {
namespace {

constexpr std::array<std::string_view, 18> kOfOneJob{
    "RANK",        "LOCAL_RANK",  "WORLD_SIZE", "LOCAL_WORLD_SIZE", "NODE_RANK",
    "MASTER_ADDR", "MASTER_PORT", "PWD",        "OLDPWD",           "SHLVL",
    "_",           "TERM",        "COLORTERM",  "COLUMNS",          "LINES",
    "WINDOWID",    "STY",         "DISPLAY"};
constexpr std::array<std::string_view, 5> kBeginnings{"MUSTER_", "SSH_", "TMUX", "XDG_SESSION_",
                                                      "DBUS_SESSION_"};

bool is_left_out(std::string_view name) {
  return std::find(kOfOneJob.begin(), kOfOneJob.end(), name) != kOfOneJob.end() ||
         std::any_of(kBeginnings.begin(), kBeginnings.end(),
                     [&](std::string_view begin) { return name.starts_with(begin); });
}

}  // namespace

Environment setup_environment(const Environment& env) {
  Environment own;
  for (const auto& [name, value] : env)
    if (!is_left_out(name)) own[name] = value;
  return own;
}

std::string installing_env(const Environment& env) {
  std::string text;
  for (const auto& [name, value] : env)
    if (name == "PATH" || name.starts_with("PIP_")) text += name + '=' + value + '\0';
  return text;
}

}  // namespace muster::process
