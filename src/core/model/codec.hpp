/// Values <-> JSON text, the only JSON in core. Readers ignore unknown fields and keep defaults for
/// absent ones; a field of the wrong type is an error. A string that is not UTF-8 is {"b64":"..."}.
#pragma once
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "core/model/event.hpp"
#include "core/model/plan.hpp"

namespace muster {

std::string encode(const JobSpec& spec);
std::string encode(const PodSettings& pod);
std::string encode(const Job& job);
std::string encode(const Attempt& attempt);
std::string encode(const ExitRecord& record);
std::string encode(const Plan& plan);
std::string encode(const Node& node);
std::string encode_body(const EventBody& body);

Result<JobSpec> decode_spec(std::string_view json);
Result<Job> decode_job(std::string_view json);
Result<Attempt> decode_attempt(std::string_view json);
Result<ExitRecord> decode_exit_record(std::string_view json);
Result<Plan> decode_plan(std::string_view json);
/// `kind` and `version` are the row's own columns; older versions are lifted here.
Result<EventBody> decode_body(std::string_view kind, int version, std::string_view json);

}  // namespace muster
