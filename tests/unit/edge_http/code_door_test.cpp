#include "edge/http/code_door.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>

#include <atomic>
#include <fstream>

#include "edge/http/same_token.hpp"
#include "edge/http/tcp_listener.hpp"
#include "support.hpp"

namespace muster::http {
namespace {

Connection connect_to(int port) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  return {socket_channel(std::move(fd)), {.name = "the door", .fix = {}}, 60s, {}};
}

/// Gives "code of ID", as often repeated as asked for, to whoever has the token "right".
struct Scene {
  explicit Scene(std::size_t size = 1) {
    auto opened = CodeDoor::open(
        {.host = "127.0.0.1", .port = 0},
        {.may_take = [](std::string_view token,
                        std::string_view id) { return token == "right" && id != "other"; },
         .open = [this, size](const std::string& id) -> Result<SharedFile> {
           ++opens;
           if (id == "lost") return fail(Kind::corrupt, "it is damaged");
           const auto path = folder.path() + "/file";
           std::ofstream file(path);
           for (std::size_t i = 0; i < size; ++i) file << "code of " << id;
           file.close();
           return share_file(UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)));
         }});
    EXPECT_TRUE(opened) << to_text(opened.error());
    door = std::move(*opened);
  }
  ClientResponse ask(const std::string& target, const std::string& token,
                     const std::string& method = "GET") {
    auto connection = connect_to(door->port());
    const auto answer = connection.call(
        {.method = method,
         .target = target,
         .headers = token.empty() ? Headers{} : Headers{{"Authorization", "Bearer " + token}}});
    EXPECT_TRUE(answer) << to_text(answer.error());
    return answer.value_or(ClientResponse{});
  }

  TempFolder folder;
  std::atomic<int> opens = 0;
  std::unique_ptr<CodeDoor> door;
};

TEST(CodeDoor, GivesTheFileToWhoeverHasTheToken) {
  Scene scene;
  const auto answer = scene.ask("/v1/agent/snapshot/abc", "right");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "code of abc");
}

TEST(CodeDoor, RefusesEverythingElseAlikeAndOpensNothing) {
  Scene scene;
  EXPECT_EQ(scene.ask("/v1/agent/snapshot/abc", "").status, 403);
  EXPECT_EQ(scene.ask("/v1/agent/snapshot/abc", "wrong").status, 403);
  EXPECT_EQ(scene.ask("/v1/agent/snapshot/other", "right").status, 403);
  EXPECT_EQ(scene.ask("/v1/jobs", "wrong").status, 403);
  EXPECT_EQ(scene.ask("/v1/agent/snapshot/abc", "wrong", "POST").status, 403);
  EXPECT_EQ(scene.opens, 0);
}

TEST(CodeDoor, TellsWhatIsWrongWithTheCode) {
  Scene scene;
  EXPECT_EQ(scene.ask("/v1/agent/snapshot/lost", "right").status, 422);
}

TEST(CodeDoor, ALargeFileArrivesWhole) {
  constexpr std::size_t kTimes = 2'000'000;  // more than sockets and the answer hold
  Scene scene(kTimes);
  auto connection = connect_to(scene.door->port());
  std::uint64_t bytes = 0;
  const ClientRequest request{.target = "/v1/agent/snapshot/abc",
                              .headers = {{"Authorization", "Bearer right"}}};
  const auto answer = connection.stream(request, [&](std::string_view piece) {
    bytes += piece.size();
    return true;
  });
  ASSERT_TRUE(answer) << to_text(answer.error());
  EXPECT_EQ(bytes, kTimes * std::string_view("code of abc").size());
}

TEST(CodeDoor, AReaderThatLeavesDisturbsNobody) {
  Scene scene(2'000'000);
  {
    auto connection = connect_to(scene.door->port());
    (void)connection.stream(
        {.target = "/v1/agent/snapshot/abc", .headers = {{"Authorization", "Bearer right"}}},
        [](std::string_view) { return false; });
  }
  EXPECT_EQ(scene.ask("/v1/agent/snapshot/lost", "right").status, 422);
}

TEST(CodeDoor, ClosesWhileAnAnswerIsUnderWay) {
  Scene scene(2'000'000);
  auto connection = connect_to(scene.door->port());
  const auto answer = connection.stream(
      {.target = "/v1/agent/snapshot/abc", .headers = {{"Authorization", "Bearer right"}}},
      [&](std::string_view) {
        scene.door.reset();
        return true;
      });
  EXPECT_FALSE(answer) << "a part is not taken for the whole";
}

TEST(TcpAddresses, AreReadAsPeopleWriteThem) {
  EXPECT_EQ(parse_tcp_address("10.0.0.5:80")->host, "10.0.0.5");
  EXPECT_EQ(parse_tcp_address("[fd00::1]:80")->host, "fd00::1");
  EXPECT_EQ(parse_tcp_address("muster.research:7800")->port, 7800);
  EXPECT_EQ(parse_tcp_address(":7800")->host, "");
  for (const char* wrong : {"", "80", "a:", "a:0", "a:70000", "fd00::1:80:", "a/b:80", "a b:80"})
    EXPECT_FALSE(parse_tcp_address(wrong)) << wrong;
}

TEST(TcpAddresses, OnlyFiguresAreListenedOn) {
  EXPECT_EQ(listen_tcp({.host = "localhost", .port = 0}).error().kind, Kind::usage);
  const auto fd = listen_tcp({.host = "127.0.0.1", .port = 0});
  ASSERT_TRUE(fd);
  EXPECT_GT(port_of(fd->get()), 0);
  EXPECT_FALSE(listen_tcp({.host = "127.0.0.1", .port = port_of(fd->get())}));
}

TEST(Tokens, AnEmptyOneIsNobodys) {
  EXPECT_FALSE(is_same_token("", ""));
  EXPECT_TRUE(is_same_token("a", "a"));
  EXPECT_FALSE(is_same_token("a", "b"));
  EXPECT_FALSE(is_same_token("a", "aa"));
}

}  // namespace
}  // namespace muster::http
