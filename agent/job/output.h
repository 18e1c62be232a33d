#pragma once
// A rank's standard streams on the agent's side: what it writes becomes Output frames, Stdin frames
// become what it reads. One io_context thread. Knows nothing of processes: a stream ends when its
// pipe does.

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

// Output frames waiting in the connection where nothing else bounds them. In bytes.
constexpr std::size_t kOutputInFlight = 1 << 20;

// How much of its output a rank may still send before somebody has taken some of it; shared by its
// two streams. Without OutputRules there is no bound.
class RankCredit {
 public:
  RankCredit(asio::io_context& context, const Connection& connection, const OutputRules& rules);

  bool bounded() const { return rules_.window > 0; }
  std::size_t left() const { return bounded() ? left_ : kMaxOutputBytes; }
  void spend(std::size_t bytes);
  void give_back(std::size_t bytes);
  // Half the window is free: enough to go on with.
  bool recovered() const { return recovered_after(0); }
  bool recovered_after(std::size_t bytes) const {
    return !bounded() || left_ >= rules_.window / 2 + bytes;
  }
  // Waits for that as long as the rules allow; false when it did not come. A reader that has let us
  // down once is not waited for again before it has taken everything. The wait is counted from when
  // all that was sent has arrived: a launcher that the network keeps away lets nobody down.
  awaitable<bool> recover();

 private:
  awaitable<void> recover_until(asio::steady_timer::time_point when);

  const Connection& connection_;
  OutputRules rules_;
  std::size_t left_;
  bool let_down_ = false;  // waited for in vain, and not everything was taken since
  asio::steady_timer wake_;
};

// One of a rank's two output streams.
class RankOutput {
 public:
  // file: where everything is kept; may be empty. All references outlive the task.
  RankOutput(Connection& connection, RankCredit& credit, std::uint32_t rank, Stream stream,
             std::unique_ptr<RankFile> file);

  // Until the pipe's end.
  awaitable<void> forward(asio::io_context& context, Fd pipe);
  // Into the file alone.
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
  bool skipping_ = false;      // what comes is thrown away, until there is credit again
  bool mid_line_ = false;      // what was sent ends within a line
  std::uint64_t skipped_ = 0;  // bytes
  std::string tail_;           // the last lines of them: shown after all, as they matter most
};

// The pipe to a rank's standard input. What is given to put() is acknowledged by StdinTaken: at
// first when the rank has read it, later when it is in the pipe. So the launcher takes from the
// user's standard input hardly more than ranks read.
class RankInput {
 public:
  RankInput(asio::io_context& context, Connection& connection, std::uint32_t rank, Fd pipe);

  void put(const Stdin& message);
  awaitable<void> run();  // until the end flag has been served, or close()
  void close();           // the rank has ended; says how much it has read

 private:
  awaitable<bool> write(std::string_view bytes);  // false: nobody reads it
  awaitable<bool> wait_until_read();
  void serve_end();
  std::uint64_t unread() const;

  Connection& connection_;
  std::uint32_t rank_;
  asio::posix::stream_descriptor pipe_;
  int descriptor_ = -1;  // of pipe_
  Fd looks_;             // its other end, once ours is closed: to see what is left in it
  std::deque<std::string> queue_;
  std::uint64_t written_ = 0;
  bool end_ = false, closed_ = false;
  asio::steady_timer wake_;  // never expires; cancelled when there is something to do
};

}  // namespace dtl
