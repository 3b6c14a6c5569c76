#include "app/agent/plan_file.hpp"

#include "core/model/codec.hpp"
#include "edge/fs/files.hpp"

namespace muster::agent {

Result<PlanFile> read_plan_file(const std::string& path) {
  TRY(auto text, fs::read_file(path));
  TRY(auto plan, within(decode_plan(text), path));
  return PlanFile{std::move(plan), std::move(text)};
}

}  // namespace muster::agent
