// Requests from arbitrary bytes: the first byte says in what pieces they come. However they are
// cut, the same bytes must give the same requests.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "app/api/routes.hpp"
#include "edge/http/reader.hpp"

namespace {

std::string outcome(std::string_view bytes, std::size_t piece) {
  muster::http::RequestReader reader({.header = 4096, .body = 4096});
  std::string seen;
  while (!bytes.empty()) {
    reader.append(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
    for (;;) {
      const auto incoming = reader.next();
      if (!incoming) return seen;
      if (!*incoming) break;
      const auto& request = (*incoming)->request;
      (void)muster::api::match(request.method, request.path);
      seen += request.method + ' ' + request.path + '\n' + request.body + '\n';
      for (const auto& [name, value] : request.headers) seen += name + ':' + value + '\n';
    }
    (void)reader.take_continue();
  }
  return seen;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // Long inputs meet the limits at places that depend on the pieces.
  if (size < 2 || size > 3000) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (outcome(bytes, 1U + data[0]) != outcome(bytes, bytes.size())) std::abort();
  return 0;
}
