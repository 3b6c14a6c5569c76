#include "app/cli/dry_run.hpp"

#include "app/cli/client.hpp"
#include "app/cli/documents.hpp"
#include "app/cli/output.hpp"
#include "app/cli/take_code.hpp"
#include "app/server/equip.hpp"
#include "base/text.hpp"
#include "core/model/codec.hpp"
#include "core/model/json.hpp"
#include "core/render/in_pod.hpp"
#include "core/render/kube_job.hpp"
#include "core/sched/view.hpp"
#include "edge/tree/survey.hpp"

namespace muster {
namespace {

constexpr const char* kNoHome = "00000000-0000-0000-0000-000000000000";

AttemptRef first_attempt(const JobSpec& spec) {
  return {.seq = 0, .job = JobId(fmt::format("{}_0000000000_00000000", spec.user)), .attempt = 1};
}

/// By the profile, and by size alone, as the code is not packed.
Result<render::CodeFrom> code_from(Context& context, const spec::ResolvedJob& job) {
  const auto& store = job.spec.pod->store;
  const bool has_code = job.wants_snapshot || !job.spec.code.snapshot.empty();
  if (has_code && store && !store->folder.empty()) return render::CodeFrom::store;
  if (!job.spec.code.snapshot.empty()) return render::code_by_size(UINT64_MAX, *job.spec.pod);
  const auto home = context.env.find("HOME");
  const auto top = code_top(job.spec.dir, home == context.env.end() ? "" : home->second);
  if (!job.wants_snapshot || top.empty()) return render::CodeFrom::none;
  TRY(const auto survey, snapshot::survey_tree(top));
  return render::code_by_size(survey.bytes, *job.spec.pod);
}

Result<std::string> plan_of(Context& context, const spec::ResolvedJob& job, const AttemptRef& ref,
                            render::CodeFrom code) {
  auto around = render::in_pod(ref, kNoHome);
  around.env = job.env;
  TRY_VOID(server::reveal(around.env, context.paths.state));
  const Launch launch{.ref = ref,
                      .placements = sched::open_placements(job.spec.request),
                      .port = render::kMasterPort,
                      .plan = nullptr};
  around.store = render::code_address(code);
  return encode(plan::make_plan(job.spec, launch, ref.attempt, around));
}

/// The document of a Secret with the size in the place of the content.
Result<std::string> without_content(const render::Object& object) {
  TRY(auto parsed, parse_json(object.json));
  for (auto& pair : parsed.as_object().at("data").as_object()) {
    TRY(const auto bytes, from_base64(std::string_view(pair.value().get_string())));
    pair.value() = fmt::format("({} bytes: --show-secrets shows them)", bytes.size());
  }
  return json::serialize(parsed);
}

/// Code is not packed for a look: its Secret says so instead of showing nothing.
std::string stand_in_code() { return "(the code, packed when the job is submitted)"; }

Result<std::vector<std::string>> documents_of(Context& context, const spec::ResolvedJob& job,
                                              bool is_shown) {
  if (job.spec.pod->pod_security == PodSecurity::automatic)
    say(context, "muster: pod_security is auto: shown as in a namespace that enforces nothing");
  const auto ref = first_attempt(job.spec);
  TRY(const auto code, code_from(context, job));
  TRY(auto plan, plan_of(context, job, ref, code));
  TRY(const auto objects, render::render({.spec = job.spec,
                                          .ref = ref,
                                          .home_id = kNoHome,
                                          .plan_bytes = std::move(plan),
                                          .code_bytes = stand_in_code(),
                                          .code = code,
                                          .enforced = {}}));
  std::vector<std::string> documents;
  for (const auto& object : objects) {
    if (object.kind == "Secret" && !is_shown) {
      TRY(auto document, without_content(object));
      documents.push_back(std::move(document));
    } else {
      documents.push_back(object.json);
    }
  }
  return documents;
}

}  // namespace

Result<int> dry_run(Context& context, const Parsed& parsed, const spec::SubmitOptions& options) {
  for (const char* other : {"from", "wait", "follow"})
    if (parsed.has(other))
      return fail(Kind::usage, fmt::format("--dry-run starts nothing that --{} could use", other),
                  "leave one of them out");
  TRY(const auto job, resolve_job(context, options));
  std::vector<std::string> documents{encode(job.spec)};
  if (job.spec.pod) {
    TRY(documents, documents_of(context, job, parsed.has("show-secrets")));
    TRY_VOID(print_documents(context, documents));
    return 0;
  }
  if (context.globals.format != Format::json) context.globals.format = Format::yaml;
  TRY_VOID(print_record(context, documents.front()));
  return 0;
}

}  // namespace muster
