/// The working folder of one attempt on one node: its own, writable, over a snapshot that stays as
/// it is. Made in steps, of which the slow ones are work for a child. Single thread.
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "base/error.hpp"
#include "core/model/plan.hpp"

namespace muster::process {

class JobFolder {
 public:
  using Step = std::function<Result<>()>;
  /// `plan` (of the attempt on this node) must outlive it.
  JobFolder(std::string attempt_dir, const Plan& plan);

  /// The restored tree, which jobs share.
  std::optional<Step> first_step() const;
  /// Does the quick work here, and gives the next slow one; nothing: the folder is ready.
  Result<std::optional<Step>> next_step();
  /// What the step given last does: "code", "setup" or "copy".
  std::string_view doing() const;
  std::string working_folder() const;
  /// When nothing of the attempt runs any more: takes the mount down, and what is not kept away.
  void leave(Keep keep);

 private:
  enum class Stage { restored, set_up, copied, ready };
  std::optional<Step> setup_step() const;
  Result<> make_links() const;
  // One below its own place: what a job writes to ".." does not reach the records beside it.
  std::string folder() const { return base_ + "/dir/" + plan_.name; }

  std::string base_;  // up, wk and dir/NAME lie here
  const FolderPlan& plan_;
  const Environment& env_;  // what a set-up runs with
  Duration setup_limit_;
  Stage stage_ = Stage::restored;
  bool is_mounted_ = false;
};

}  // namespace muster::process
