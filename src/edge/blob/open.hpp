/// Opens a blob store by its address. Any thread.
#pragma once
#include <memory>
#include <string_view>

#include "base/error.hpp"
#include "port/blob.hpp"

namespace muster {

/// `usage` when the address is none, or of a scheme nobody provides.
Result<std::unique_ptr<BlobStore>> open_blob_store(std::string_view url);

}  // namespace muster
