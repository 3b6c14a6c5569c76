// Frames, commands in containers and forwarded ports, against a server that speaks the protocol.
#include "edge/kube/websocket.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <openssl/sha.h>
#include <rapidcheck.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/text.hpp"
#include "edge/kube/cancel.hpp"
#include "edge/kube/exec.hpp"
#include "edge/kube/port_forward.hpp"
#include "unit/edge_kube/fake_server.hpp"

namespace muster::kube {
namespace {

/// A server's frame: not masked.
std::string server_frame(WsOp op, std::string_view payload, bool is_last = true) {
  std::string frame(1, static_cast<char>((is_last ? 0x80 : 0) | static_cast<int>(op)));
  if (payload.size() <= 125) {
    frame += static_cast<char>(payload.size());
  } else if (payload.size() <= 0xffff) {
    frame += '\x7e';
    frame += static_cast<char>(payload.size() >> 8);
    frame += static_cast<char>(payload.size() & 0xff);
  } else {
    frame += '\x7f';
    for (int at = 7; at >= 0; --at) frame += static_cast<char>(payload.size() >> (8 * at) & 0xff);
  }
  return frame + std::string(payload);
}

std::string binary(std::string_view bytes) { return server_frame(WsOp::binary, bytes); }

/// The server's end: answers the handshake, and reads the client's masked frames.
class Far {
 public:
  Far(const http::Request& request, Wire& wire, std::string_view protocol) : wire_(wire) {
    const auto key = request.header("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
    std::array<unsigned char, SHA_DIGEST_LENGTH> digest{};
    SHA1(reinterpret_cast<const unsigned char*>(key.data()), key.size(), digest.data());
    head_ = fmt::format(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Accept: {}\r\nSec-WebSocket-Protocol: {}\r\n\r\n",
        to_base64({reinterpret_cast<const char*>(digest.data()), digest.size()}), protocol);
  }
  void open(std::string_view early = "") { wire_.send(head_ + std::string(early)); }
  void send(std::string_view bytes) { wire_.send(bytes); }

  struct Message {
    int op;
    std::string payload;
  };
  /// Nothing at the end of the connection.
  std::optional<Message> receive() {
    for (;;) {
      if (auto message = take()) return message;
      const auto more = wire_.receive();
      if (more.empty()) return std::nullopt;
      buffer_ += more;
    }
  }

 private:
  std::optional<Message> take() {
    if (buffer_.size() < 2) return std::nullopt;
    const auto at = [&](std::size_t i) { return static_cast<unsigned char>(buffer_[i]); };
    EXPECT_NE(at(1) & 0x80, 0) << "a client's frames are masked";
    std::size_t size = at(1) & 0x7f, head = 2;
    const std::size_t extra = size == 126 ? 2 : size == 127 ? 8 : 0;
    if (buffer_.size() < 2 + extra) return std::nullopt;
    if (extra > 0) size = 0;
    for (std::size_t i = 0; i < extra; ++i) size = size << 8 | at(2 + i);
    head += extra;
    if (buffer_.size() < head + 4 + size) return std::nullopt;
    Message message{at(0) & 0x0f, buffer_.substr(head + 4, size)};
    for (std::size_t i = 0; i < size; ++i)
      message.payload[i] = static_cast<char>(message.payload[i] ^ buffer_[head + i % 4]);
    buffer_.erase(0, head + 4 + size);
    return message;
  }
  Wire& wire_;
  std::string head_;
  std::string buffer_;
};

constexpr std::string_view kV5 = "v5.channel.k8s.io";
const std::string kSuccess = std::string("\3") + R"({"status":"Success"})";
const std::string kSeven =
    std::string("\3") +
    R"({"status":"Failure","reason":"NonZeroExitCode","message":"command terminated",)"
    R"("details":{"causes":[{"reason":"ExitCode","message":"7"}]}})";

struct Ran {
  ApiResult<int> code;
  std::string out, err;
};

Ran run(FakeServer& server, ExecStreams streams = {}, http::Stop stop = {}) {
  Ran ran;
  streams.out = [&](std::string_view bytes) { ran.out += bytes; };
  streams.err = [&](std::string_view bytes) { ran.err += bytes; };
  const auto cluster = server.cluster();
  ran.code = exec(*cluster, {"default", "p", "main", {"sh", "-c", "a b"}}, streams, stop);
  return ran;
}

TEST(Exec, OutputAndExitCodeComeBack) {
  FakeServer server([](const http::Request& request, Wire& wire) {
    EXPECT_EQ(request.path, "/api/v1/namespaces/default/pods/p/exec");
    EXPECT_EQ(request.header("Sec-WebSocket-Protocol"), kV5);
    EXPECT_EQ(request.parameter("command"), "sh");
    EXPECT_FALSE(request.parameter("stdin"));
    Far far(request, wire, kV5);
    far.open(binary("\1early "));  // in one packet with the answer
    far.send(server_frame(WsOp::ping, "are you there"));
    far.send(binary("\1out") + binary("\2err"));
    far.send(server_frame(WsOp::binary, "\1in ", false) + server_frame(WsOp::more, "parts"));
    far.send(binary(kSeven) + server_frame(WsOp::close, "\3\xe8"));
    bool has_pong = false;
    while (const auto message = far.receive())
      has_pong = has_pong || (message->op == 10 && message->payload == "are you there");
    EXPECT_TRUE(has_pong);
    return false;
  });
  const auto ran = run(server);
  ASSERT_TRUE(ran.code) << to_text(ran.code.error());
  EXPECT_EQ(*ran.code, 7);
  EXPECT_EQ(ran.out, "early outin parts");
  EXPECT_EQ(ran.err, "err");
}

TEST(Exec, InputIsSentToItsEndWhileOutputComes) {
  // Far more than any buffer in between, both ways at once: who only writes would block for ever.
  constexpr std::size_t kSize = 8U << 20;
  FakeServer server([&](const http::Request& request, Wire& wire) {
    EXPECT_EQ(request.parameter("stdin"), "true");
    Far far(request, wire, kV5);
    far.open();
    std::size_t received = 0;
    while (const auto message = far.receive()) {
      if (message->payload == std::string_view("\xff\0", 2)) break;
      received += message->payload.size() - 1;
      far.send(binary("\1" + message->payload.substr(1)));
    }
    EXPECT_EQ(received, kSize);
    far.send(binary(kSuccess) + server_frame(WsOp::close, ""));
    return false;
  });
  std::size_t given = 0;
  const auto ran = run(server, {.source = [&]() -> Result<std::string> {
                         const auto piece = std::min<std::size_t>(kSize - given, 100'000);
                         given += piece;
                         return std::string(piece, 'x');
                       }});
  ASSERT_TRUE(ran.code) << to_text(ran.code.error());
  EXPECT_EQ(*ran.code, 0);
  EXPECT_EQ(ran.out.size(), kSize);
}

TEST(Exec, ADescriptorIsReadToItsEnd) {
  FakeServer server([&](const http::Request& request, Wire& wire) {
    Far far(request, wire, kV5);
    far.open();
    std::string input;
    while (const auto message = far.receive()) {
      if (message->payload == std::string_view("\xff\0", 2)) break;
      input += message->payload.substr(1);
    }
    far.send(binary("\1" + input) + binary(kSuccess) + server_frame(WsOp::close, ""));
    return false;
  });
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  ASSERT_EQ(::write(pipe[1], "hello", 5), 5);
  ::close(pipe[1]);
  const auto ran = run(server, {.in = pipe[0]});
  ::close(pipe[0]);
  ASSERT_TRUE(ran.code) << to_text(ran.code.error());
  EXPECT_EQ(ran.out, "hello");
}

TEST(Exec, ATerminalIsToldItsSizeAtTheStartAndWhenItChanges) {
  const UniqueFd notice(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  int columns = 80;
  FakeServer server([&](const http::Request& request, Wire& wire) {
    EXPECT_EQ(request.parameter("tty"), "true");
    EXPECT_FALSE(request.parameter("stderr"));
    Far far(request, wire, kV5);
    far.open();
    const auto first = far.receive();
    EXPECT_EQ(first ? first->payload : "", "\4{\"Width\":80,\"Height\":24}");
    const std::uint64_t one = 1;
    EXPECT_EQ(::write(notice.get(), &one, sizeof one), 8);
    const auto second = far.receive();
    EXPECT_EQ(second ? second->payload : "", "\4{\"Width\":81,\"Height\":24}");
    far.send(binary(kSuccess));
    while (far.receive()) continue;
    return false;
  });
  ExecStreams streams;
  streams.resized = notice.get();
  streams.size = [&] {
    std::uint64_t count = 0;
    (void)!::read(notice.get(), &count, sizeof count);
    return TerminalSize{columns++, 24};
  };
  const auto cluster = server.cluster();
  const ExecRequest request{
      .space = "default", .pod = "p", .container = "main", .argv = {"sh"}, .is_terminal = true};
  EXPECT_EQ(exec(*cluster, request, streams).value_or(-1), 0);
}

TEST(Exec, ALostConnectionIsNotAnExitCode) {
  FakeServer server([](const http::Request& request, Wire& wire) {
    Far far(request, wire, kV5);
    far.open(binary("\1half"));
    return false;
  });
  const auto ran = run(server);
  ASSERT_FALSE(ran.code);
  EXPECT_EQ(ran.code.error().kind, Kind::unavailable);
  EXPECT_EQ(ran.out, "half");
}

TEST(Exec, ARefusalKeepsTheServersWords) {
  FakeServer server([](const http::Request&, Wire& wire) {
    return wire.answer(403, status_json(403, "Forbidden", "pods/exec is forbidden"));
  });
  const auto ran = run(server);
  ASSERT_FALSE(ran.code);
  EXPECT_EQ(ran.code.error().kind, Kind::denied);
  EXPECT_EQ(ran.code.error().reason, "Forbidden");
}

TEST(Exec, AServerThatSpeaksSomethingElseIsRefused) {
  FakeServer server([](const http::Request& request, Wire& wire) {
    Far far(request, wire, "v4.channel.k8s.io");
    far.open();
    return false;
  });
  const auto ran = run(server);
  ASSERT_FALSE(ran.code);
  EXPECT_NE(to_line(ran.code.error()).find("v4.channel.k8s.io"), std::string::npos);
}

TEST(Exec, AnotherThreadBreaksItOff) {
  FakeServer server([](const http::Request& request, Wire& wire) {
    Far far(request, wire, kV5);
    far.open();
    far.receive();
    return false;
  });
  Cancel cancel;
  std::thread breaker([&] {
    EXPECT_TRUE(eventually([&] { return server.requests() == 1; }));
    cancel.set();
  });
  const auto ran = run(server, {}, cancel.stop());
  breaker.join();
  ASSERT_FALSE(ran.code);
  EXPECT_EQ(ran.code.error().kind, Kind::cancelled);
}

TEST(Exec, WhatIsNoOutcomeIsAnError) {
  EXPECT_FALSE(exec_outcome("nonsense"));
  EXPECT_FALSE(exec_outcome("[]"));
  const auto internal = exec_outcome(
      R"({"status":"Failure","reason":"InternalError","message":"no such file","code":500})");
  ASSERT_FALSE(internal);
  EXPECT_EQ(internal.error().what, "no such file");
}

std::string ask(std::uint16_t port, std::string_view text, std::size_t answer) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{
      .sin_family = AF_INET, .sin_port = htons(port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
  if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) return "?";
  ::send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL);
  std::string got;
  std::array<char, 4096> piece;
  while (got.size() < answer) {
    const auto count = ::recv(fd.get(), piece.data(), piece.size(), 0);
    if (count <= 0) break;
    got.append(piece.data(), static_cast<std::size_t>(count));
  }
  return got;
}

TEST(PortForward, ConnectionsAreCarriedBothWays) {
  FakeServer server([](const http::Request& request, Wire& wire) {
    EXPECT_EQ(request.path, "/api/v1/namespaces/default/pods/p/portforward");
    EXPECT_EQ(request.parameter("ports"), "8080");
    Far far(request, wire, "v4.channel.k8s.io");
    far.open(binary(std::string("\0\x90\x1f", 3)) + binary(std::string("\1\x90\x1f", 3)));
    while (const auto message = far.receive())
      if (message->op == 2)
        far.send(binary(std::string("\0", 1) + "<" + message->payload.substr(1) + ">"));
    return false;
  });
  const auto forwarding = PortForward::open(server.cluster(), {"default", "p", 8080});
  ASSERT_TRUE(forwarding) << to_text(forwarding.error());
  std::vector<std::thread> clients;
  for (int i = 0; i < 5; ++i)
    clients.emplace_back([&, i] {
      const auto text = fmt::format("hello {}", i);
      EXPECT_EQ(ask((*forwarding)->port(), text, text.size() + 2), "<" + text + ">");
    });
  for (auto& client : clients) client.join();
}

TEST(PortForward, ThePodsRefusalIsTold) {
  FakeServer server([](const http::Request& request, Wire& wire) {
    Far far(request, wire, "v4.channel.k8s.io");
    far.open(binary(std::string("\1\x90\x1f", 3)) + binary("\1connection refused"));
    far.receive();
    return false;
  });
  const auto forwarding = PortForward::open(server.cluster(), {"default", "p", 8080});
  ASSERT_TRUE(forwarding);
  EXPECT_EQ(ask((*forwarding)->port(), "x", 1), "");
  EXPECT_TRUE(eventually([&] {
    return (*forwarding)->last_trouble().find("connection refused") != std::string::npos;
  }));
}

using Messages = std::vector<std::pair<WsOp, std::string>>;

std::optional<Messages> read_frames(std::string_view bytes, std::size_t piece) {
  WsReader reader(70'000);
  Messages messages;
  while (!bytes.empty()) {
    const auto fed = reader.feed(bytes.substr(0, piece), [&](WsOp op, std::string_view payload) {
      messages.emplace_back(op, payload);
      return Result<>{};
    });
    if (!fed) return std::nullopt;
    bytes.remove_prefix(std::min(piece, bytes.size()));
  }
  return messages;
}

TEST(WsFrames, MessagesAreTheSameHoweverTheyAreCut) {
  rc::check([](const std::vector<std::string>& texts) {
    std::string bytes;
    Messages sent;
    for (const auto& text : texts) {
      bytes += server_frame(WsOp::binary, text);
      sent.emplace_back(WsOp::binary, text);
    }
    const auto got = read_frames(bytes, *rc::gen::inRange<std::size_t>(1, 40));
    RC_ASSERT(got.has_value());
    RC_ASSERT(*got == sent);
  });
}

TEST(WsFrames, EverySizeHasItsLength) {
  for (const std::size_t size : {0, 125, 126, 65'535, 65'536}) {
    const std::string text(size, 'x');
    const auto got = read_frames(server_frame(WsOp::binary, text), 1000);
    ASSERT_TRUE(got) << size;
    EXPECT_EQ(got->at(0).second, text);
    // Ours differ by the mask only.
    EXPECT_EQ(ws_frame(WsOp::binary, text, 0).size(), server_frame(WsOp::binary, text).size() + 4);
  }
  EXPECT_EQ(ws_frame(WsOp::binary, "Hello", 0x37fa213d),
            std::string("\x82\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58", 11));
}

TEST(WsFrames, WhatBreaksTheRulesIsRefused) {
  const std::vector<std::string> broken{
      "\xc2" + std::string(1, '\0'),       // an extension
      "\x83" + std::string(1, '\0'),       // an unknown kind
      "\x82\x80" + std::string(4, '\0'),   // masked
      std::string("\x82\x7e\x00\x05", 4),  // a long length for a short one
      std::string("\x09\x00", 2),          // a ping in parts
      std::string("\x80\x00", 2),          // the end of nothing
      std::string("\x02\x01", 2) + "a" + std::string("\x82\x01", 2) + "b",  // one within another
      std::string("\x82\x7f\x00\x00\x00\xff\xff\xff\xff\xff", 10),          // far too large
  };
  for (const auto& bytes : broken) EXPECT_FALSE(read_frames(bytes, 100)) << to_hex(bytes);
}

}  // namespace
}  // namespace muster::kube
