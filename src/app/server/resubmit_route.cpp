/// A job submitted again: the stored spec with the stored snapshot and environment, but for what
/// is said anew. The old job is cancelled when the new one is accepted.
#include "app/api/error_json.hpp"
#include "app/server/equip.hpp"
#include "app/server/job_json.hpp"
#include "app/server/routes.hpp"
#include "base/hash.hpp"
#include "base/text.hpp"
#include "core/model/codec.hpp"
#include "core/model/json.hpp"
#include "core/spec/again.hpp"
#include "edge/blob/open.hpp"
#include "edge/tree/names.hpp"

namespace muster::server {
namespace {

struct Wish {
  std::string options = "{}";
  std::optional<Code> code;        // newer code than the stored
  std::optional<Environment> env;  // of who asks: for another cluster of this machine
};

Result<Wish> wish_of(std::string_view body) {
  Wish wish;
  if (trimmed(body).empty()) return wish;
  TRY(const auto parsed, parse_json(body));
  if (!parsed.is_object())
    return fail(Kind::usage, "a resubmission must be a JSON object", R"({"options":{"gpus":8}})");
  const auto& object = parsed.get_object();
  if (const auto* options = field(object, "options")) wish.options = json::serialize(*options);
  if (const auto* code = field(object, "code")) {
    json::object spec;
    spec["code"] = *code;
    TRY(auto decoded, decode_spec(json::serialize(spec)));
    wish.code = std::move(decoded.code);
  }
  if (const auto* env = field(object, "env")) {
    TRY(wish.env, environment_from_json(json::serialize(*env)));
  }
  return wish;
}

/// The old job is given up for this one: what it needs must be there.
Result<> check_can_run(const Office& office, const JobSpec& spec, Environment env) {
  TRY_VOID(reveal(env, office.about.home));
  const auto id = tree::from_hex(spec.code.snapshot);
  if (!id) return {};
  TRY(const auto blobs, open_blob_store("file://" + office.about.home + "/chunks"));
  if (const auto found = blobs->look(snapshot::tree_name(*id)); !found)
    return fail(Kind::not_found,
                fmt::format("the snapshot {} of that job is not in the store any more",
                            spec.code.snapshot.substr(0, 8)),
                "take the folder's code of today: muster resubmit --latest-code");
  return {};
}

/// What the old job was given goes along, wherever the new one runs; what else it found around it
/// does only on this machine.
void keep_given(spec::SubmitOptions& options, const JobSpec& old, const Environment& stored) {
  std::vector<std::pair<std::string, std::optional<std::string>>> given;
  for (const auto& name : old.env_names)
    if (const auto found = stored.find(name); found != stored.end())
      given.emplace_back(name, found->second);
  // What is said now comes later, and wins.
  options.env.insert(options.env.begin(), given.begin(), given.end());
}

Result<> check_code(const JobSpec& spec, const std::string& id) {
  if (!spec.pod || !spec.code.snapshot.empty()) return {};
  return fail(Kind::usage,
              fmt::format("job {} runs in place: the pods of \"{}\" do not see its folder", id,
                          printable(spec.cluster)),
              fmt::format("submit it from its folder: muster submit -c {}", spec.cluster));
}

/// It is made where its cluster is today.
void move_with_profile(Office& office, const std::string& cluster, PodSettings& pod) {
  const auto defaults = office.defaults_of(cluster);
  if (!defaults || defaults->profile.kind != "kube") return;
  pod.kubeconfig = defaults->profile.kubeconfig;
  pod.context = defaults->profile.context;
  pod.name_space = defaults->profile.pod.name_space;
}

/// The job as its own cluster would have it again, or as another one makes of it.
Result<spec::ResolvedJob> resolve_again(Office& office, const JobSpec& old, const Wish& wish,
                                        spec::SubmitOptions options, spec::Submitter submitter) {
  if (options.cluster.value_or(old.cluster) == old.cluster) {
    auto pod = spec::pod_again(old, options);
    if (pod) move_with_profile(office, old.cluster, *pod);
    auto defaults = office.defaults();
    defaults.profile.queue = old.queue;  // a profile of then named it
    TRY(auto job, spec::resolve(options, defaults.profile, defaults.nodes, submitter));
    job.spec.cluster = old.cluster;
    job.spec.pod = std::move(pod);
    return job;
  }
  TRY(const auto defaults, office.defaults_of(*options.cluster));
  keep_given(options, old, submitter.env);
  if (options.queue == old.queue) options.queue.reset();  // the old cluster's own affair
  if (wish.env) submitter.env = *wish.env;
  return spec::resolve(options, defaults.profile, defaults.nodes, submitter);
}

Result<JobSpec> spec_again(Office& office, const JobDetail& old_job, const Wish& wish,
                           const std::string& user) {
  const auto& old = old_job.spec;
  TRY(auto options, spec::options_again(old, wish.options));
  const bool has_snapshot = options.snapshot.has_value();
  auto env = office.envs.get(old.env_id);
  if (!env && env.error().kind == Kind::not_found)
    return fail(Kind::not_found, "the environment of that job is not kept any more",
                "submit it again from its folder: muster submit");
  TRY(auto surroundings, std::move(env));
  spec::Submitter submitter{.user = user,
                            .dir = old.dir,
                            .env = std::move(surroundings),
                            .umask = old.umask,
                            .nice = old.nice,
                            .limits = old.limits};
  TRY(auto job, resolve_again(office, old, wish, std::move(options), std::move(submitter)));
  auto& spec = job.spec;
  if (!has_snapshot) {
    auto code = wish.code.value_or(old.code);
    code.setup = spec.code.setup;
    code.requirements = spec.code.requirements;
    spec.code = std::move(code);
  }
  TRY_VOID(check_code(spec, old_job.job.id.str()));
  spec.parent = old.parent;
  spec.env_names.insert(spec.env_names.end(), old.env_names.begin(), old.env_names.end());
  std::sort(spec.env_names.begin(), spec.env_names.end());
  spec.env_names.erase(std::unique(spec.env_names.begin(), spec.env_names.end()),
                       spec.env_names.end());
  if (spec.key.empty()) spec.key = to_hex(random_bytes(16));
  TRY_VOID(check_spec(spec));
  TRY_VOID(check_env(job.env));
  TRY_VOID(check_can_run(office, spec, job.env));
  TRY(spec.env_id, office.envs.put(job.env));
  return spec;
}

std::string answer_json(const engine::Answer& answer, const std::string& old) {
  json::object out = parse_json(accepted_json(answer))->as_object();
  out["old"] = old;
  return json::serialize(out);
}

/// On the intake's thread, because it stores the environment.
void submit_again(Office& office, const Ask& ask, const JobDetail& old) {
  const auto user = user_name(ask->request().peer_uid);
  const auto wish = wish_of(ask->request().body);
  auto spec = wish ? spec_again(office, old, *wish, user)
                   : Result<JobSpec>(tl::unexpected<Error>(wish.error()));
  if (!spec) return ask->answer(api::response_of(spec.error()));
  const auto seq = old.job.seq;
  const auto id = old.job.id.str();
  office.driver.submit(
      std::move(*spec), [&office, ask, user, seq, id](Result<engine::Answer> answer) {
        if (!answer) return ask->answer(api::response_of(answer.error()));
        // Only now: whatever happens, one of the two is there.
        office.driver.abort(seq, user, [ask, answer, id](const Result<engine::Answer>& aborted) {
          if (!aborted) return ask->answer(api::response_of(aborted.error()));
          ask->answer({.status = 201, .body = answer_json(*answer, id)});
        });
      });
}

}  // namespace

void resubmit_job(Office& office, const Ask& ask, const std::string& id) {
  office.readers.run(
      [&office, ask, id](Records& records) {
        const auto seq = records.resolve(id);
        if (!seq) return ask->answer(api::response_of(seq.error()));
        const auto detail = records.detail(*seq);
        if (!detail) return ask->answer(api::response_of(detail.error()));
        office.intake.run(
            [&office, ask, detail = *detail](std::size_t) { submit_again(office, ask, detail); });
      },
      [ask](const Error& error) { ask->answer(api::response_of(error)); });
}

}  // namespace muster::server
