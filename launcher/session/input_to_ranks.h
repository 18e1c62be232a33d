#pragma once
// InputToRanks: dtlaunch's standard input on its way to the ranks that get it: who reads, how far
// the slowest of them has read, and what is given back at the end. How the descriptor is read is
// StandardInput's business. With --stdin all each rank gets a copy. Belongs to the session's
// thread.

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "launcher/job/job.h"
#include "launcher/screen/standard_input.h"
#include "launcher/session/session.h"
#include "launcher/session/session_node.h"
#include "wire/asio.h"

namespace dtl {

class InputToRanks {
 public:
  // All references outlive this.
  InputToRanks(asio::io_context& context, const SessionOptions& options, const Job& job,
               SessionNodes& nodes);

  // By --stdin, whether or not it has ended.
  bool gets(int rank) const;
  // The ranks start. False when nobody gets what this process reads: no rank wants input, or one
  // has the descriptor itself.
  bool begin(std::size_t ranks);
  awaitable<void> run() { return input_.run(); }  // after begin()
  // What agents tell of their ranks; numbers of ranks that do not exist are passed over.
  void taken(const StdinTaken& taken);
  void closed(const StdinClosed& closed);
  void count();  // again: a rank has ended
  void stop() { input_.stop(); }
  // Gives back what no rank has used, and adds what was read and what is lost.
  void finish(SessionResult& result);

 private:
  // Of a rank that gets input.
  struct Reader {
    std::size_t taken = 0;
    std::optional<std::size_t> read = {};  // once it reads no more
  };

  void send(const Stdin& input);
  bool reads(std::size_t rank) const;  // it gets it, and has not ended
  bool is_handed_over() const;
  // Bytes from the begin of the input.
  std::size_t used() const;

  const SessionOptions& options_;
  const Job& job_;
  SessionNodes& nodes_;
  std::vector<Reader> readers_;  // by rank
  // What each rank that may still read has taken, and the rank: the slowest first.
  std::set<std::pair<std::size_t, std::size_t>> reading_;
  std::size_t counted_ = 0;  // taken by all of them
  StandardInput input_;
  const off_t began_;  // its place in its file; -1: none
};

}  // namespace dtl
