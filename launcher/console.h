#pragma once
// Console: what the user sees of a job: the ranks' lines and dtlaunch's own, in one order, and what
// the failure card and the report need to remember of them. One thread, except for the writer's
// callbacks.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "launcher/line_mixer.h"
#include "launcher/output_writer.h"

namespace dtl {

class Console {
 public:
  Console(OutputWriter::Descriptors descriptors, bool label, OutputWriter::Events events);

  void set_ranks(std::size_t ranks);
  void rank_output(const Output& message, Time now);
  void rank_ended(int rank);
  // One line, or a card of several, from dtlaunch: "dtlaunch: ..." on standard error.
  void say(std::string_view text);
  void on_say(std::function<void(std::string_view)> listener) { said_ = std::move(listener); }
  void print(std::string_view text);  // as it is, on standard output

  void show_partial_lines(Time now);
  std::optional<Time> next_partial_line() const { return mixer_.next_partial_line(); }

  // A pipe that is read slowly: whoever produces output has to wait. A terminal never makes the
  // job wait: what it cannot show in time is dropped and counted.
  bool must_wait() const { return !terminal_ && !lossy_ && writer_.full(); }
  // Nobody waits any more, because the job is ending.
  void stop_waiting();

  std::vector<std::string> last_lines(int rank) const;
  const std::vector<std::string>& messages() const { return messages_; }
  std::size_t dropped_bytes() const { return writer_.dropped_bytes(); }
  int columns() const { return columns_; }  // for cards and tables

 private:
  void flush() { writer_.write(mixer_.take()); }

  bool terminal_;
  bool lossy_ = false;
  int columns_;
  LineMixer mixer_;
  std::vector<LineTail> tails_;
  std::vector<std::string> messages_;
  std::function<void(std::string_view)> said_;  // hears what say() says; may be empty
  mutable OutputWriter writer_;
};

}  // namespace dtl
