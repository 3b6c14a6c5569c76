/// Sends a folder to a store: what a submit does before the job is accepted. The store has the
/// whole snapshot, durably, when it returns. Starts threads of its own; they end with the call.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/tree/manifest.hpp"
#include "edge/tree/read_file.hpp"
#include "port/blob.hpp"

namespace muster::snapshot {

struct Progress {
  std::uint64_t entries = 0;
  std::uint64_t files_read = 0;
  std::uint64_t bytes_read = 0;
};

struct SendOptions {
  std::string top;
  std::string store;       // its address; a cache made for another store is not used
  std::string cache_file;  // empty: no cache
  Racy racy = Racy::refuse;
  bool use_ignore_rules = true;
  std::vector<std::string> leave_out;                // absolute paths that are never part of it
  std::function<void(const Progress&)> on_progress;  // often; called on this thread
};

struct Sent {
  tree::Hash id;
  tree::Root root;  // without leaves when nothing had changed
  bool is_unchanged = false;
  std::uint64_t files_read = 0;
  std::uint64_t new_chunks = 0;    // of data
  std::uint64_t new_leaves = 0;    // of the manifest
  std::uint64_t stored_bytes = 0;  // written to the store
  std::string pin;                 // keeps the snapshot until it is removed, a day at most
  std::vector<std::string> ignored_at_top;
  std::vector<std::string> specials;
  std::vector<std::string> partly_at_top;  // see fs::WalkReport
  std::string index_fault;
};

Result<Sent> send_tree(BlobStore& blobs, const SendOptions& options);

/// Keeps a snapshot that is there; `not_found` when it is not. Gives the pin.
Result<std::string> pin(BlobStore& blobs, const tree::Hash& id);
/// The job that wanted the snapshot is committed, or given up.
Result<> unpin(BlobStore& blobs, const std::string& pin);

}  // namespace muster::snapshot
