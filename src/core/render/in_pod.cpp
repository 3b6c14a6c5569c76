#include "core/render/in_pod.hpp"

namespace muster::render {

plan::Surroundings in_pod(const AttemptRef& ref, std::string_view home_id) {
  return {.env = {},
          .home_id = std::string(home_id),
          .master_addr = peer_address(object_name(ref, home_id), 0),
          .job_dir = "/muster/job",
          .tools_dir = "/muster/bin",
          .resume_from = {},
          .store = {},  // the agent looks where it may have come to
          .trees = "/muster/trees",
          .venvs = "/muster/venvs"};
}

}  // namespace muster::render
