/// Jobs on Kubernetes that tests render. No tests inside.
#pragma once
#include "core/render/kube_job.hpp"

namespace muster::render {

constexpr const char* kSampleHome = "0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d";

inline AttemptRef sample_ref() {
  return {.seq = 7, .job = JobId("ann_1772366400_0badcafe"), .attempt = 2};
}

/// One rank, everything as it comes.
inline JobSpec plain_spec() {
  JobSpec spec{.command = {"python3", "train.py"}, .dir = "/home/ann/mnist"};
  spec.name = "train";
  spec.user = "ann";
  spec.cluster = "aks";
  spec.request.memory_per_node = Bytes{std::int64_t{1} << 30};
  PodSettings pod;
  pod.image = "registry.example.com/ann/train:3";
  pod.agent_image = "registry.example.com/muster:1";
  pod.pod_security = PodSecurity::image;
  pod.shm = Bytes{std::int64_t{512} << 20};
  spec.pod = pod;
  return spec;
}

inline Rendering rendering_of(const JobSpec& spec) {
  return {.spec = spec,
          .ref = sample_ref(),
          .home_id = kSampleHome,
          .plan_bytes = "the plan, \xff any bytes",
          .code_bytes = {},
          .code = CodeFrom::none,
          .enforced = {}};
}

}  // namespace muster::render
