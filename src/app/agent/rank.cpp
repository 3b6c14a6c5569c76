#include "app/agent/rank.hpp"

#include "app/agent/plan_file.hpp"
#include "app/agent/pod_plan.hpp"
#include "app/agent/record.hpp"
#include "app/agent/supervisor.hpp"
#include "base/hash.hpp"
#include "edge/fs/files.hpp"
#include "edge/process/attempt_dir.hpp"

namespace muster::agent {
namespace {

struct Read {
  NodeOrder order;
  BarrierPlan barrier;
};

Result<Read> read_plan(const RankOptions& options) {
  TRY(auto file, read_plan_file(options.plan_file));
  auto& plan = file.plan;
  BarrierPlan barrier{.index = options.index,
                      .nodes = plan.nodes,
                      .address = plan.env["MASTER_ADDR"],
                      .port = options.barrier_port,
                      .token = sha256_hex(file.text).substr(0, 32),  // who has it has the plan
                      .patience = options.barrier};
  if (const auto own = plan.env.find("MUSTER_BARRIER_TIMEOUT"); own != plan.env.end()) {
    TRY(barrier.patience, within(parse_duration(own->second), own->first));
  }
  TRY(auto order, order_for_pod(std::move(plan), options.index, options.image, options.places));
  return Read{std::move(order), std::move(barrier)};
}

}  // namespace

Result<int> run_rank(const RankOptions& options) {
  TRY_VOID(fs::make_dirs(options.places.run()));
  auto read = read_plan(options);
  if (!read) {
    const ExitRecord record{
        .ranks = {},
        .killed_by = fmt::format("{}: {}", name_of(Cause::corrupt_input), to_line(read.error())),
        .why = "it was never started"};
    TRY_VOID(leave_record(record, {}, 0, options));
    return tl::unexpected<Error>(read.error());
  }
  TRY(const auto record, supervise(read->order, read->barrier, options));
  return exit_code_of(record);
}

}  // namespace muster::agent
