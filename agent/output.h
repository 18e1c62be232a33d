#pragma once
// A rank's standard streams on the agent's side: what it writes becomes Output frames, Stdin frames
// become what it reads. One io_context thread.

#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "base/fd.h"
#include "wire/asio.h"
#include "wire/connection.h"

namespace dtl {

// Output frames waiting in the connection; above it the pipes are not read, and ranks that write
// more than their pipe holds wait.
constexpr std::size_t kOutputInFlight = 1 << 20;

// Forwards until the pipe's end. The connection must outlive the task.
awaitable<void> forward_output(asio::io_context& context, Connection& connection, Fd pipe,
                               std::uint32_t rank, Stream stream);

// The pipe to a rank's standard input. Every byte given to put() is acknowledged by StdinTaken,
// also when the rank closed its end.
class RankInput {
 public:
  RankInput(asio::io_context& context, Connection& connection, std::uint32_t rank, Fd pipe);

  void put(const Stdin& message);
  awaitable<void> run();  // until the end flag has been served, or close()
  void close();
  bool ended() const { return end_; }

 private:
  Connection& connection_;
  std::uint32_t rank_;
  asio::posix::stream_descriptor pipe_;
  std::deque<std::string> queue_;
  bool end_ = false;
  asio::steady_timer wake_;  // never expires; cancelled when there is something to do
};

}  // namespace dtl
