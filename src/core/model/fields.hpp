/// The field lists: one function per value type names its fields once, for writing and reading.
/// Included by codec.cpp alone.
#pragma once
#include "core/model/event.hpp"
#include "core/model/plan.hpp"

namespace muster {

template <class V>
void fields(V& v, Request& x) {
  v("nodes", x.nodes);
  v("procs_per_node", x.procs_per_node);
  v("gpus_per_node", x.gpus_per_node);
  v("milli_cpus_per_node", x.cpus_per_node.count);
  v("memory_per_node", x.memory_per_node.count);
}

template <class V>
void fields(V& v, Retries& x) {
  v("user", x.user);
  v("memory", x.memory);
  v("hang", x.hang);
  v("infrastructure", x.infrastructure);
}

template <class V>
void fields(V& v, Spent& x) {
  v("user", x.user);
  v("memory", x.memory);
  v("hang", x.hang);
  v("infrastructure", x.infrastructure);
  v("eviction", x.eviction);
}

template <class V>
void fields(V& v, Node& x) {
  v("name", x.name);
  v("cluster", x.cluster);
  v("milli_cpus", x.cpus.count);
  v("memory", x.memory.count);
  v("gpus", x.gpus);
  v("spot", x.is_spot);
  v("labels", x.labels);
}

template <class V>
void fields(V& v, Placement& x) {
  v("node", x.node);
  v("first_rank", x.first_rank);
  v("ranks", x.ranks);
  v("milli_cpus", x.cpus.count);
  v("memory", x.memory.count);
  v("gpus", x.gpus);
}

template <class V>
void fields(V& v, Code& x) {
  v("snapshot", x.snapshot);
  v("top", x.top);
  v("below", x.below);
  v("links", x.links);
  v("setup", x.setup);
  v("requirements", x.requirements);
  v("commit", x.commit);
  v("branch", x.branch);
  v("dirty", x.dirty);
}

template <class V>
void fields(V& v, Toleration& x) {
  v("key", x.key);
  v("value", x.value);
  v("effect", x.effect);
}

template <class V>
void fields(V& v, ClaimMount& x) {
  v("claim", x.claim);
  v("path", x.path);
  v("read_only", x.is_read_only);
}

template <class V>
void fields(V& v, CodeStore& x) {
  v("claim", x.claim);
  v("folder", x.folder);
}

template <class V>
void fields(V& v, PodSettings& x) {
  v("image", x.image);
  v("agent_image", x.agent_image);
  v("image_pull_secrets", x.image_pull_secrets);
  v("service_account", x.service_account);
  v("kubeconfig", x.kubeconfig);
  v("context", x.context);
  v("namespace", x.name_space);
  v("pod_security", x.pod_security);
  v("node_selector", x.node_selector);
  v("tolerations", x.tolerations);
  v("spot", x.spot);
  v("priority_class", x.priority_class);
  v("shm", x.shm.count);
  v("gpu_resource", x.gpu_resource);
  v("resources", x.resources);
  v("volumes", x.volumes);
  v("store", x.store);
}

template <class V>
void fields(V& v, JobSpec& x) {
  v("command", x.command);
  v("shell", x.shell);
  v("dir", x.dir);
  v("code", x.code);
  v("keep", x.keep);
  v("name", x.name);
  v("user", x.user);
  v("cluster", x.cluster);
  v("queue", x.queue);
  v("experiment", x.experiment);
  v("tags", x.tags);
  v("priority", x.priority);
  v("request", x.request);
  v("retries", x.retries);
  v("time_limit_us", x.time_limit);
  v("grace_us", x.grace);
  v("signal_to", x.signal_to);
  v("dataloader_workers", x.dataloader_workers);
  v("env_id", x.env_id);
  v("env_names", x.env_names);
  v("parent", x.parent);
  v("key", x.key);
  v("request_hash", x.request_hash);
  v("umask", x.umask);
  v("nice", x.nice);
  v("limits", x.limits);
  v.if_any("pod", x.pod);
}

template <class V>
void fields(V& v, RankExit& x) {
  v("rank", x.rank);
  v("exit", x.exit);
  v("signal", x.signal);
  v("started", x.started);
  v("ended", x.ended);
  v("ended_run_us", x.ended_run_us);
  v("cpu_us", x.cpu_us);
  v("peak_bytes", x.peak_bytes);
  v("oom_kills", x.oom_kills);
  v("out_bytes", x.out_bytes);
  v("err_bytes", x.err_bytes);
  v("out_xxh3", x.out_xxh3);
  v("err_xxh3", x.err_xxh3);
}

template <class V>
void fields(V& v, ExitRecord& x) {
  v("ranks", x.ranks);
  v("killed_by", x.killed_by);
  v("handed_on", x.handed_on);
  v("why", x.why);
}

template <class V>
void fields(V& v, NodeEnd& x) {
  v("node", x.node);
  v("record", x.record);
  v("loss", x.loss);
  v("evidence", x.evidence);
}

template <class V>
void fields(V& v, Attempt& x) {
  v("n", x.n);
  v("epoch", x.epoch);
  v("state", x.state);
  v("placements", x.placements);
  v("port", x.port);
  v("ends", x.ends);
  v("stop_asked", x.stop_asked);
  v("cause", x.cause);
  v("exit_code", x.exit_code);
  v("signal", x.signal);
  v("first_failed_rank", x.first_failed_rank);
  v("evidence", x.evidence);
  v("placed_at", x.placed_at);
  v("started_at", x.started_at);
  v("ended_at", x.ended_at);
  v("cpu_s", x.cpu_s);
  v("peak_bytes", x.peak_bytes);
  v("oom_kills", x.oom_kills);
}

/// Without `live`: attempts have rows of their own.
template <class V>
void fields(V& v, Job& x) {
  v("seq", x.seq);
  v("id", x.id);
  v("name", x.name);
  v("user", x.user);
  v("key", x.key);
  v("request_hash", x.request_hash);
  v("cluster", x.cluster);
  v("queue", x.queue);
  v("env_id", x.env_id);
  v("priority", x.priority);
  v("request", x.request);
  v("retries", x.retries);
  v("grace_us", x.grace);
  v("state", x.state);
  v("cancelled_by", x.cancelled_by);
  v("attempts", x.attempts);
  v("spent", x.spent);
  v("not_before_us", x.not_before);
  v("cause", x.cause);
  v("exit_code", x.exit_code);
  v("signal", x.signal);
  v("submitted_at", x.submitted_at);
  v("started_at", x.started_at);
  v("ended_at", x.ended_at);
}

template <class V>
void fields(V& v, AttemptRef& x) {
  v("seq", x.seq);
  v("job", x.job);
  v("attempt", x.attempt);
}

template <class V>
void fields(V& v, RankPlan& x) {
  v("rank", x.rank);
  v("local_rank", x.local_rank);
  v("env", x.env);
}

template <class V>
void fields(V& v, NodePlan& x) {
  v("index", x.index);
  v("placement", x.placement);
  v("ranks", x.ranks);
}

template <class V>
void fields(V& v, FolderPlan& x) {
  v("snapshot", x.snapshot);
  v("store", x.store);
  v("token", x.token);
  v("trees", x.trees);
  v("name", x.name);
  v("below", x.below);
  v("links", x.links);
  v("setup", x.setup);
  v("requirements", x.requirements);
  v("venvs", x.venvs);
  v("keep", x.keep);
}

template <class V>
void fields(V& v, Plan& x) {
  v("ref", x.ref);
  v("epoch", x.epoch);
  v("argv", x.argv);
  v("dir", x.dir);
  v("folder", x.folder);
  v("env", x.env);
  v("nodes", x.nodes);
  v("time_limit_us", x.time_limit);
  v("grace_us", x.grace);
  v("signal_to", x.signal_to);
  v("memory_limit", x.memory_limit.count);
  v("umask", x.umask);
  v("nice", x.nice);
  v("limits", x.limits);
  v("folders", x.folders);
}

template <class V>
void fields(V& v, Submitted& x) {
  v("id", x.id);
  v("spec", x.spec);
}
template <class V>
void fields(V& v, Placed& x) {
  v("attempt", x.attempt);
  v("epoch", x.epoch);
  v("placements", x.placements);
  v("port", x.port);
}
template <class V>
void fields(V& v, PortMoved& x) {
  v("attempt", x.attempt);
  v("port", x.port);
}
template <class V>
void fields(V& v, Seated& x) {
  v("attempt", x.attempt);
  v("nodes", x.nodes);
}
template <class V>
void fields(V& v, Started& x) {
  v("attempt", x.attempt);
}
template <class V>
void fields(V& v, NodeEnded& x) {
  v("attempt", x.attempt);
  v("end", x.end);
}
template <class V>
void fields(V& v, GangStopped& x) {
  v("attempt", x.attempt);
  v("first_failed_rank", x.first_failed_rank);
}
template <class V>
void fields(V& v, CancelRequested& x) {
  v("by", x.by);
}
template <class V>
void fields(V& v, AttemptEnded& x) {
  v("attempt", x.attempt);
  v("cause", x.cause);
  v("exit_code", x.exit_code);
  v("signal", x.signal);
  v("first_failed_rank", x.first_failed_rank);
  v("evidence", x.evidence);
  v("cpu_s", x.cpu_s);
  v("peak_bytes", x.peak_bytes);
  v("oom_kills", x.oom_kills);
  v("started_at", x.started_at);
  v("ended_at", x.ended_at);
}
template <class V>
void fields(V& v, Requeued& x) {
  v("budget", x.budget);
  v("not_before_us", x.not_before);
}
template <class V>
void fields(V& v, Finished& x) {
  v("state", x.state);
  v("cause", x.cause);
  v("exit_code", x.exit_code);
  v("signal", x.signal);
}

}  // namespace muster
