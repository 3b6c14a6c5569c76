/// A second store, as on another machine, and what comes out of it there.
#pragma once
#include <gtest/gtest.h>

#include <string>

#include "edge/blob/file_store.hpp"
#include "edge/tree/chunks.hpp"
#include "edge/tree/restore.hpp"
#include "unit/edge_tree/lab.hpp"

namespace muster::test {

struct Far {
  explicit Far(const Lab& lab) : blobs(lab.room("far")), folder(lab.room("restored")) {}
  Picture restored(const tree::Hash& id) {
    snapshot::Chunks chunks(blobs);
    const auto done = snapshot::restore(chunks, id, folder);
    EXPECT_TRUE(done) << to_line(done.error());
    return picture_of(folder);
  }
  FileStore blobs;
  std::string folder;
};

}  // namespace muster::test
