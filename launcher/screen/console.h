#pragma once
// Console: what the user sees of a job: the ranks' lines and dtlaunch's own, in one order. It also
// keeps what the failure card and the report need of them. What becomes of bytes is LineMixer's
// business, and how they are written OutputWriter's. One thread, except for the events, which come
// on the writers' threads.

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "launcher/screen/console_options.h"
#include "launcher/screen/line_mixer.h"
#include "launcher/screen/line_tail.h"
#include "launcher/screen/output_writer.h"
#include "launcher/screen/rank_files.h"

namespace dtl {

class Console {
 public:
  // The descriptors stay the caller's. Whether they are terminals is found out here, once.
  Console(OutputWriter::Descriptors descriptors, const ConsoleOptions& options,
          OutputWriter::Events events);

  // Before any output of a rank: messages of other ranks are dropped.
  void set_ranks(std::size_t ranks);
  // The rank has started: labels may name its pid, and its files are opened.
  void set_rank(int rank, LabelFacts facts);
  // Shows it, or writes it to its file. Its credit comes back by Events::written, whatever becomes
  // of the bytes: the rank would otherwise stop for want of it.
  void rank_output(Output message, JobTime now);
  // Says in the place of the missing output how much is missing, and where it is kept.
  void rank_skipped(const Skipped& message, const std::string& host, JobTime now);
  void rank_ended(int rank);
  // One line, or a card of several, from dtlaunch: "dtlaunch: ..." on standard error.
  void say(std::string_view text);
  // Hears the text without the program's name in front.
  void on_say(std::function<void(std::string_view)> listener) { said_ = std::move(listener); }
  void print(std::string_view text);  // as it is, on standard output

  // To be called when next_partial_line() has come. nullopt there: nothing waits.
  void show_partial_lines(JobTime now);
  std::optional<JobTime> next_partial_line() const { return mixer_.next_partial_line(); }
  void finish();  // the job is over: whatever is unfinished is shown as it is

  // What the agents are to keep to; the windows of all ranks together are bounded.
  OutputRules rules(std::size_t ranks) const;
  // From now on nothing waits for a slow reader, because the job is ending.
  void stop_waiting() { writer_.set_lossy(true); }

  // Of standard error; empty for a rank that does not exist.
  std::vector<std::string> last_lines(int rank) const;
  const std::vector<std::string>& messages() const { return messages_; }
  // What agents have skipped, and what the writer has dropped.
  std::size_t dropped_bytes() const { return skipped_bytes_ + writer_.dropped_bytes(); }
  int columns() const { return columns_; }  // for cards; 0: no terminal
  // For a line of the rank's standard output, its label left out. nullopt: no terminal shows it, or
  // a file has it, too, which bars would fill.
  std::optional<int> rank_columns(const LabelFacts& rank) const;

 private:
  void flush() { writer_.write(mixer_.take()); }
  bool on_screen(int rank) const;

  ConsoleOptions options_;
  bool terminal_;
  int output_;  // standard output, if it is a terminal that can show progress bars; else -1
  int screen_;  // the terminal that progress bars are on; -1: none
  int columns_;
  LineMixer mixer_;
  std::vector<LineTail> tails_;
  RankFiles files_[2];  // of standard output, error
  std::vector<std::string> messages_;
  std::function<void(std::string_view)> said_;  // hears what say() says; may be empty
  std::size_t skipped_bytes_ = 0;
  mutable OutputWriter writer_;
};

// What dtlaunch itself could not write, and why.
std::string unwritten_text(Stream stream, int error_number);

// "37 bytes", "12.3 MB"
std::string size_text(std::uint64_t bytes);

}  // namespace dtl
