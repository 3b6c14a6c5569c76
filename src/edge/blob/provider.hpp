/// A kind of blob store, by the scheme of its address. Every .cpp of providers/ is one:
/// `BlobProvider provider_<stem>()`.
#pragma once
#include <memory>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "port/blob.hpp"

namespace muster {

struct BlobProvider {
  std::string_view scheme;   // what stands before "://"
  std::string_view example;  // an address, for people
  /// `place` is what follows "://", as it is.
  Result<std::unique_ptr<BlobStore>> (*open)(std::string_view place);
};

/// Written by the build from the files of providers/.
const std::vector<BlobProvider>& all_blob_providers();

}  // namespace muster
