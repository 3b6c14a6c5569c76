/// The server's end of a zygote: starts one when there is none, and sends it orders. One thread.
#pragma once
#include <sys/types.h>

#include <string>

#include "base/error.hpp"
#include "base/unique_fd.hpp"
#include "edge/process/node_order.hpp"

namespace muster::process {

class ZygoteClient {
 public:
  /// `binary` is run as `muster shim --zygote` with its socket on descriptor 3.
  explicit ZygoteClient(std::string binary) : binary_(std::move(binary)) {}
  ~ZygoteClient() { close(); }
  ZygoteClient(const ZygoteClient&) = delete;
  ZygoteClient& operator=(const ZygoteClient&) = delete;

  /// Readable (at its end) when the zygote has died; -1 when there is none.
  int fd() const { return socket_.get(); }
  Result<> start();
  /// Hands over the order with its descriptors; `slot_lock` may be -1. Starts a zygote when there
  /// is none. On an error nothing will come of the order, and the zygote is given up.
  Result<> send(const NodeOrder& order, UniqueFd link, int slot_lock);
  void close();

 private:
  Result<> transmit(std::string_view text, int link, int slot_lock);

  std::string binary_;
  UniqueFd socket_;
  pid_t pid_ = 0;
};

}  // namespace muster::process
