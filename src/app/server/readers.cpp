#include "app/server/readers.hpp"

namespace muster::server {

Readers::Readers(std::string store_path, std::size_t threads)
    : path_(std::move(store_path)), records_(threads), pool_("reader", threads) {}

void Readers::run(std::function<void(Records&)> work, std::function<void(const Error&)> otherwise) {
  pool_.run([this, work = std::move(work), otherwise = std::move(otherwise)](std::size_t slot) {
    auto& records = records_[slot];
    if (!records) {
      auto opened = open_records(path_);
      if (!opened) return otherwise(opened.error());
      records = std::move(*opened);
    }
    work(*records);
  });
}

}  // namespace muster::server
