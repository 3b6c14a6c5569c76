/// Where the contract of a blob store is played. One file of this folder for each provider.
#pragma once
#include <memory>
#include <string>

#include "edge/blob/provider.hpp"
#include "unit/edge_sqlite/builders.hpp"

namespace muster::contract {

class BlobStage {
 public:
  virtual ~BlobStage() = default;
  /// The address of a store that is empty at first.
  virtual std::string url() const = 0;
  /// From here on this process is killed in the middle of a put of 4 MiB.
  virtual void die_in_put() const = 0;
};

std::unique_ptr<BlobStage> file_blob_stage();

}  // namespace muster::contract
