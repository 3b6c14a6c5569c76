#include "app/agent/addresses.hpp"

#include <arpa/inet.h>
#include <arpa/nameser.h>
#include <netdb.h>
#include <resolv.h>

#include <cstring>
#include <optional>

#include "base/text.hpp"
#include "edge/fs/files.hpp"

namespace muster::agent {
namespace {

Address mapped(const void* four_bytes) {
  Address address{};
  address.s6_addr[10] = address.s6_addr[11] = 0xFF;
  std::memcpy(&address.s6_addr[12], four_bytes, 4);
  return address;
}

void add_answers(ns_msg& message, int type, std::vector<Address>& found) {
  for (int i = 0; i < ns_msg_count(message, ns_s_an); ++i) {
    ns_rr row{};
    if (ns_parserr(&message, ns_s_an, i, &row) != 0 || ns_rr_type(row) != type) continue;
    if (type == ns_t_a && ns_rr_rdlen(row) == 4) found.push_back(mapped(ns_rr_rdata(row)));
    if (type == ns_t_aaaa && ns_rr_rdlen(row) == sizeof(Address)) {
      Address address{};
      std::memcpy(&address, ns_rr_rdata(row), sizeof address);
      found.push_back(address);
    }
  }
}

std::vector<Address> ask_servers(const std::string& name) {
  std::vector<Address> found;
  struct __res_state state{};
  if (::res_ninit(&state) != 0) return found;
  // Once, briefly: whoever waits for a name asks again anyway.
  state.retrans = 1;
  state.retry = 1;
  for (const int type : {ns_t_a, ns_t_aaaa}) {
    unsigned char answer[4096];
    const int size =
        ::res_nsearch(&state, name.c_str(), ns_c_in, type, answer, static_cast<int>(sizeof answer));
    ns_msg message{};
    if (size > 0 && size <= static_cast<int>(sizeof answer) &&
        ::ns_initparse(answer, size, &message) == 0)
      add_answers(message, type, found);
    if (!found.empty()) break;
  }
  ::res_nclose(&state);
  return found;
}

}  // namespace

std::optional<Address> address_of_text(const std::string& text) {
  Address address{};
  in_addr four{};
  if (::inet_pton(AF_INET, text.c_str(), &four) == 1) return mapped(&four);
  if (::inet_pton(AF_INET6, text.c_str(), &address) == 1) return address;
  return std::nullopt;
}

std::vector<Address> addresses_in_hosts(std::string_view hosts, std::string_view name) {
  std::vector<Address> found;
  for (auto line : split(hosts, '\n')) {
    line = line.substr(0, line.find('#'));
    std::string text(line);
    for (auto& c : text)
      if (c == '\t' || c == '\r') c = ' ';
    const auto words = split(text, ' ');
    const bool is_named =
        std::any_of(words.begin() + 1, words.end(), [&](auto word) { return word == name; });
    if (!is_named || name.empty()) continue;
    if (const auto address = address_of_text(std::string(words.front()))) found.push_back(*address);
  }
  return found;
}

Result<std::vector<Address>> addresses_of(const std::string& name) {
  if (const auto address = address_of_text(name)) return std::vector<Address>{*address};
  auto found = addresses_in_hosts(fs::read_file("/etc/hosts").value_or(""), name);
  if (found.empty()) found = ask_servers(name);
  if (found.empty())
    return fail(Kind::unavailable, fmt::format("the name {} has no address yet", printable(name)));
  return found;
}

}  // namespace muster::agent
