#include "agent/tree/edge_listener.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/error.h"
#include "base/sha256.h"
#include "wire/deadline.h"

namespace dtl::edge_listener_test {
namespace {

using namespace std::chrono_literals;

class EdgeListenerTest : public testing::Test {
 protected:
  TreeParent parent(std::uint32_t caller) const {
    TreeParent told;
    told.node = 1;
    told.addresses.push_back("127.0.0.1");
    told.port = listener_.port();
    told.key = hmac_sha256(key_, std::to_string(caller));
    return told;
  }
  // Empty: the caller has proved that it is that node. Otherwise the error.
  std::string call(TreeParent parent, std::uint32_t node) {
    std::string problem = "no end";
    const auto ask = [&]() -> awaitable<void> {
      try {
        ProvedEdge edge = co_await call_parent(context_, std::move(parent), node);
        problem.clear();
        edge.stream->close();
      } catch (const Error& error) {
        problem = error.what();
      }
    };
    tasks_.spawn(ask());
    context_.restart();
    while (problem == "no end") context_.run_one_for(50ms);
    return problem;
  }
  bool await(const std::function<bool()>& done) {
    const auto by = Deadline::Clock::now() + 20s;
    while (!done() && Deadline::Clock::now() < by) context_.run_one_for(50ms);
    return done();
  }
  // Connects and says this; the socket.
  asio::ip::tcp::socket stranger(const std::string& words) {
    asio::ip::tcp::socket socket(context_);
    socket.connect({asio::ip::address_v4::loopback(), listener_.port()});
    asio::write(socket, asio::buffer(words));
    return socket;
  }
  bool is_hung_up(asio::ip::tcp::socket& socket) {
    bool ended = false;
    std::string room(100, '\0');
    const auto read = [&]() -> awaitable<void> {
      boost::system::error_code error;
      while (!error) {
        co_await socket.async_read_some(asio::buffer(room),
                                        asio::redirect_error(asio::use_awaitable, error));
      }
      ended = true;
    };
    tasks_.spawn(read());
    return await([&] { return ended; });
  }

  const std::string key_ = std::string(32, 'k');
  asio::io_context context_;
  TaskGroup tasks_{context_};
  std::vector<std::uint32_t> came_;
  EdgeListener listener_{
      context_, tasks_, 0,
      0,        key_,   [this](std::uint32_t node, ProvedEdge) {
                           came_.push_back(node); }};
};

TEST_F(EdgeListenerTest, TakesANodeThatHasItsKey) {
  EXPECT_EQ(call(parent(5), 5), "");
  EXPECT_TRUE(await([&] { return came_ == std::vector<std::uint32_t>{5}; }));
}

TEST_F(EdgeListenerTest, RefusesAnotherNodesNumber) {
  EXPECT_NE(call(parent(5), 6), "");
  EXPECT_TRUE(came_.empty());
}

TEST_F(EdgeListenerTest, RefusesAnotherKey) {
  TreeParent other = parent(5);
  other.key = std::string(32, 'x');
  EXPECT_NE(call(other, 5), "");
  EXPECT_TRUE(came_.empty());
}

TEST_F(EdgeListenerTest, HangsUpOnOtherWordsAndOnSilence) {
  for (const std::string words :
       {"GET / HTTP/1.1\r\n\r\n", "DTLAUNCH-TREE x\n", "DTLAUNCH-TREE 05\n", "DTLAUNCH-TREE -1\n",
        "DTLAUNCH-TREE 5\nno TLS, but some words that are longer than a record's head", ""}) {
    auto socket = stranger(words);
    EXPECT_TRUE(is_hung_up(socket)) << words;
  }
  EXPECT_TRUE(came_.empty());
}

TEST_F(EdgeListenerTest, TakesNoMoreThanItsStrangersAndGoesOn) {
  std::vector<asio::ip::tcp::socket> silent;
  for (int i = 0; i < 64; ++i) silent.push_back(stranger(""));
  context_.poll();
  auto one_more = stranger("");
  EXPECT_TRUE(is_hung_up(one_more));
  EXPECT_TRUE(is_hung_up(silent[0])) << "3 s have passed";
  EXPECT_EQ(call(parent(5), 5), "");
}

TEST_F(EdgeListenerTest, ClosesItsPort) {
  listener_.close();
  EXPECT_NE(call(parent(5), 5).find("Connection refused"), std::string::npos);
}

}  // namespace
}  // namespace dtl::edge_listener_test
