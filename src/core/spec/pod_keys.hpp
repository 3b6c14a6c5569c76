/// The keys of a profile that say how pods are made. Lists are texts with commas, as a variable of
/// the environment has them: "sku=gpu:NoSchedule,spare", "data:/data:ro". Private to core/spec.
#pragma once
#include <string>
#include <string_view>

#include "core/spec/config.hpp"

namespace muster::spec {

Result<> set_image(std::string& out, std::string_view value);

// Rows of config_keys.cpp: (profile, what follows the dot, value).
Result<> set_namespace(Profile& profile, std::string_view sub, std::string_view value);
Result<> set_pull_secrets(Profile& profile, std::string_view sub, std::string_view value);
Result<> set_service_account(Profile& profile, std::string_view sub, std::string_view value);
Result<> set_pod_security(Profile& profile, std::string_view sub, std::string_view value);
Result<> set_node_selector(Profile& profile, std::string_view sub, std::string_view value);
Result<> set_tolerations(Profile& profile, std::string_view sub, std::string_view value);
Result<> set_priority_class(Profile& profile, std::string_view sub, std::string_view value);
Result<> set_shm(Profile& profile, std::string_view sub, std::string_view value);
Result<> set_gpu_resource(Profile& profile, std::string_view sub, std::string_view value);
Result<> set_resources(Profile& profile, std::string_view sub, std::string_view value);
Result<> set_volumes(Profile& profile, std::string_view sub, std::string_view value);
Result<> set_store(Profile& profile, std::string_view sub, std::string_view value);

/// One item of a list in a file as that text: a scalar as it is; a map of a toleration
/// ({key, operator, value, effect}, as Kubernetes has it) or of a volume ({claim, path, mode}) put
/// together.
Result<std::string> list_item(std::string_view key, const YamlNode& item, std::string_view file);

/// The least /dev/shm that programs expect.
constexpr Bytes kLeastShm{std::int64_t{64} << 20};

}  // namespace muster::spec
