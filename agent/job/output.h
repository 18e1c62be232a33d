#pragma once
// A rank's standard streams on the agent's side: turns the rank's output into Output frames, and
// Stdin frames into the rank's input. One io_context thread. Knows nothing of processes: a stream
// ends when its pipe does.

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "agent/job/rank_file.h"
#include "base/fd.h"
#include "base/limits.h"
#include "wire/asio.h"
#include "wire/connection.h"

namespace dtl {

// Bytes of Output frames waiting in the connection, if there are no OutputRules.
constexpr std::size_t kOutputInFlight = 1 << 20;

// How much output a rank may send before the launcher has shown some of it; shared by its two
// streams. Without OutputRules there is no limit.
class RankCredit {
 public:
  RankCredit(asio::io_context& context, const Connection& connection, const OutputRules& rules);

  bool bounded() const { return rules_.window > 0; }
  std::size_t left() const { return bounded() ? left_ : kMaxOutputBytes; }
  void spend(std::size_t bytes);
  void give_back(std::size_t bytes);
  // Half the window is free: enough to continue.
  bool recovered() const { return recovered_after(0); }
  bool recovered_after(std::size_t bytes) const {
    return !bounded() || left_ >= rules_.window / 2 + bytes;
  }
  // Waits for that as long as the rules allow; false on timeout. After a timeout it does not wait
  // again until the whole window is free. The timeout starts when everything sent has arrived, so a
  // lost connection does not count against the launcher.
  awaitable<bool> recover();

 private:
  awaitable<void> recover_until(asio::steady_timer::time_point when);

  const Connection& connection_;
  OutputRules rules_;
  std::size_t left_;
  bool let_down_ = false;  // a wait timed out, and the window has not been fully free since
  asio::steady_timer wake_;
};

// One of a rank's two output streams.
class RankOutput {
 public:
  // file: keeps all output; may be null. All references outlive the task.
  RankOutput(Connection& connection, RankCredit& credit, std::uint32_t rank, Stream stream,
             std::unique_ptr<RankFile> file);

  // Runs until the pipe ends.
  awaitable<void> forward(asio::io_context& context, Fd pipe);
  // Writes only into the file.
  void keep(std::string_view bytes);

 private:
  awaitable<void> offer(std::string bytes);
  void send(std::string bytes);
  std::string_view end_line(std::string_view bytes);
  std::string_view skip(std::string_view bytes);
  void hold_back(std::string_view bytes);
  void tell_skipped();

  Connection& connection_;
  RankCredit& credit_;
  std::uint32_t rank_;
  Stream stream_;
  std::unique_ptr<RankFile> file_;
  bool skipping_ = false;      // output is dropped until there is credit again
  bool mid_line_ = false;      // the last sent output ends within a line
  std::uint64_t skipped_ = 0;  // dropped bytes
  std::string tail_;           // their last lines: sent after all, as they matter most
};

// The pipe to a rank's standard input. StdinTaken acknowledges the bytes given to put(): first when
// the rank has read them, later when they are in the pipe. So the launcher consumes hardly more of
// the user's standard input than ranks read.
class RankInput {
 public:
  RankInput(asio::io_context& context, Connection& connection, std::uint32_t rank, Fd pipe);

  void put(const Stdin& message);
  awaitable<void> run();  // until the end flag was handled, or close()
  void close();           // the rank has ended; reports how much it has read

 private:
  awaitable<bool> write(std::string_view bytes);  // false: the rank has closed it
  awaitable<bool> wait_until_read();
  void serve_end();
  std::uint64_t unread() const;

  Connection& connection_;
  std::uint32_t rank_;
  asio::posix::stream_descriptor pipe_;
  int descriptor_ = -1;  // of pipe_
  Fd looks_;             // the read end, opened when pipe_ is closed: counts unread bytes
  std::deque<std::string> queue_;
  std::uint64_t written_ = 0;
  bool end_ = false, closed_ = false;
  asio::steady_timer wake_;  // never expires; cancelled when there is work
};

}  // namespace dtl
