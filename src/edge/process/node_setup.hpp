/// The set-up of a job's code on this node, done once for each content: a Python environment from
/// its requirements, and its set-up text, run in a copy of the tree that later jobs share. Runs in
/// a process of its own: it waits for locks and programs.
#pragma once
#include <string>

#include "base/error.hpp"
#include "core/model/plan.hpp"

namespace muster::process {

/// The tree that jobs of this plan are laid over: restored, or restored and set up. Jobs share one
/// only when their set-up would see the same variables.
std::string prepared_tree(const FolderPlan& plan, const Environment& env);

/// Where the words of the programs go, and links to the Python environment and to the tree that was
/// set up, when there is one.
inline constexpr const char* kSetupLog = "setup.log";
inline constexpr const char* kSetupVenv = "venv";
inline constexpr const char* kSetupTree = "tree";

/// Does what is missing. What fails is told with the end of its log; its `where` is "setup".
/// A program that has not ended after `limit` is ended (0: it may take as long as it likes).
Result<> set_up(const FolderPlan& plan, const Environment& env, const std::string& attempt_dir,
                Duration limit);

/// The same in a tree that is one attempt's own: the set-up text runs in it, not in a copy.
Result<> set_up_in(const std::string& tree, const FolderPlan& plan, const Environment& env,
                   const std::string& attempt_dir, Duration limit);

/// The Python environment of a set-up attempt; empty: none.
std::string setup_venv(const std::string& attempt_dir);

/// The variables of a set-up attempt: its Python environment first.
void use_setup(Environment& env, const std::string& attempt_dir);

}  // namespace muster::process
