#pragma once
// InputToRanks: passes dtlaunch's standard input to the ranks that get it. It tracks which ranks
// read and how far the slowest has read, and gives unused input back at the end. With --stdin all,
// each rank gets a copy. StandardInput reads the descriptor. Belongs to the session's thread.

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

  // According to --stdin, whether the rank has ended or not.
  bool gets(int rank) const;
  // The ranks start. Returns false if this process must not read: no rank wants input, or a rank
  // has the descriptor itself.
  bool begin(std::size_t ranks);
  awaitable<void> run() { return input_.run(); }  // after begin()
  // What agents report about their ranks; ignores ranks that do not exist.
  void taken(const StdinTaken& taken);
  void closed(const StdinClosed& closed);
  void count();  // recount: a rank has ended
  void stop() { input_.stop(); }
  // Gives unused input back, and adds to the result how much was read and how much is lost.
  void finish(SessionResult& result);

 private:
  // A rank that gets input.
  struct Reader {
    std::size_t taken = 0;
    std::optional<std::size_t> read = {};  // when it stopped reading
  };

  void send(const Stdin& input);
  bool reads(std::size_t rank) const;  // it gets input and has not ended
  bool is_handed_over() const;
  // Bytes from the beginning of the input.
  std::size_t used() const;

  const SessionOptions& options_;
  const Job& job_;
  SessionNodes& nodes_;
  std::vector<Reader> readers_;  // by rank
  // What each rank that may still read has taken, and the rank: the slowest first.
  std::set<std::pair<std::size_t, std::size_t>> reading_;
  std::size_t counted_ = 0;  // taken by all of them
  StandardInput input_;
  const off_t began_;  // file offset at the start; -1: none
};

}  // namespace dtl
