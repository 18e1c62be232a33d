#pragma once
// Tests of JoinRoom and JoinCaller: a room of two nodes, n0 and n1, over loopback. Their agent is a
// shell script that echoes its input unless a test replaces it.

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/files/new_file.h"
#include "launcher/join/join_caller.h"
#include "launcher/join/join_room.h"
#include "wire/messages.h"
#include "wire/tls/tls_session.h"

namespace dtl::room_fixture {

constexpr std::chrono::seconds kSoon{30};  // generous, for a busy machine
inline const std::string kToken(32, 't');

class RoomTest : public ::testing::Test {
 protected:
  using Names = std::vector<std::string>;

  RoomTest() {
    std::signal(SIGPIPE, SIG_IGN);
    // Before a test forks: a child has no thread to finish what the room's thread began.
    TlsSession::prepare(TlsSession::Side::kListens);
    std::string pattern = std::filesystem::temp_directory_path() / "dtl-join-test.XXXXXX";
    folder_ = ::mkdtemp(pattern.data());
    make_agent("exec cat");
    options_.token = kToken;
    options_.expected.count = 2;
    node_ = fork_waiting_node();
  }
  ~RoomTest() override {
    order_.write_end.reset();
    if (node_ > 0) ::waitpid(node_, nullptr, 0);
    std::filesystem::remove_all(folder_);
  }

  void make_agent(const std::string& script) const {
    write_file_atomically(folder_ + "/agent", "#!/bin/sh\n" + script + "\n");
    ::chmod((folder_ + "/agent").c_str(), 0755);
  }

  void open() { room_ = std::make_unique<JoinRoom>(options_); }

  JoinCall call(int rank) const { return call_at(room_->port(), rank); }
  JoinCall call_at(int port, int rank) const {
    JoinCall call;
    call.token = kToken;
    call.host = "127.0.0.1";
    call.port = port;
    call.hello = {kProtocol, DTL_VERSION, {}, 0, rank, "n" + std::to_string(rank)};
    call.agent_path = folder_ + "/agent";
    call.patience = kSoon;
    return call;
  }

  std::future<int> join(JoinCall call) {
    return std::async(std::launch::async, [call] { return serve_joined_job(call); });
  }

  // A process that is rank 0's node, once; the caller waits for its end.
  pid_t start_node() {
    const int port = room_->port();
    EXPECT_EQ(::write(order_.write_end.get(), &port, sizeof port), ssize_t{sizeof port});
    return std::exchange(node_, -1);
  }

  // Before the room has a thread: a lock of malloc's that another thread holds at fork(2) stays
  // held in the child.
  pid_t fork_waiting_node() {
    const pid_t node = ::fork();
    if (node != 0) return node;
    order_.write_end.reset();
    int port = 0;
    if (::read(order_.read_end.get(), &port, sizeof port) == ssize_t{sizeof port}) {
      serve_joined_job(call_at(port, 0));
    }
    ::_exit(0);
  }

  bool wait_present(const Names& names, const Names& or_these = {"nobody"}) {
    const auto end = std::chrono::steady_clock::now() + kSoon;
    for (Names now = room_->present(); now != names && now != or_these; now = room_->present()) {
      if (std::chrono::steady_clock::now() > end) return false;
      pollfd waiting{room_->change_descriptor(), POLLIN, 0};
      ::poll(&waiting, 1, 1000);
      room_->changed();
    }
    return true;
  }

  // What an echoing agent answers to this text (with an empty text: all that it says), and how it
  // ends.
  std::pair<std::string, std::string> talk(std::size_t place, const std::string& text,
                                           const std::vector<std::string>& arguments = {}) {
    asio::io_context context;
    auto stream = room_->start_agent(context, place, arguments);
    std::string heard;
    asio::co_spawn(
        context,
        [](AgentStream& agent, const std::string& said, std::string& answer) -> awaitable<void> {
          if (!said.empty()) co_await agent.write(said);
          while (said.empty() || answer.size() < said.size()) {
            const std::string bytes = co_await agent.read();
            if (bytes.empty()) break;
            answer += bytes;
          }
        }(*stream, text, heard),
        [](std::exception_ptr) {});
    context.run();
    stream->close();
    const auto end = std::chrono::steady_clock::now() + kSoon;
    while (stream->ending().empty() && std::chrono::steady_clock::now() < end) {
      std::this_thread::yield();
    }
    return {heard, stream->ending()};
  }

  std::string folder_;
  JoinRoomOptions options_;
  std::unique_ptr<JoinRoom> room_;
  Pipe order_ = make_pipe();  // to the waiting node: the room's port
  pid_t node_ = -1;
};

}  // namespace dtl::room_fixture
