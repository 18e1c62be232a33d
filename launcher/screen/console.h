#pragma once
// Console: shows a job to the user: the ranks' lines and dtlaunch's own, in one order. It also
// keeps what the failure card and the report need. LineMixer makes the lines, OutputWriter writes
// them. One thread, except for the events, which come on the writers' threads.

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
  // The caller keeps the descriptors. The constructor checks whether they are terminals.
  Console(OutputWriter::Descriptors descriptors, const ConsoleOptions& options,
          OutputWriter::Events events);

  // Call it before any output of a rank: output of unknown ranks is dropped.
  void set_ranks(std::size_t ranks);
  // The rank has started: sets the facts for its labels and opens its files.
  void set_rank(int rank, LabelFacts facts);
  // Shows the output, or writes it to the rank's file. Events::written always returns its credit,
  // or the rank would stop for lack of credit.
  void rank_output(Output message, JobTime now);
  // Shows, in place of the missing output, how much is missing and where it is kept.
  void rank_skipped(const Skipped& message, const std::string& host, JobTime now);
  void rank_ended(int rank);
  // A line, or several, from dtlaunch: "dtlaunch: ..." on standard error.
  void say(std::string_view text);
  void say_card(std::string_view card);  // the same for a failure card, which may get colours
  // The listener gets the text without the program's name.
  void on_say(std::function<void(std::string_view)> listener) { said_ = std::move(listener); }
  void print(std::string_view text);  // unchanged, on standard output

  // Call it at next_partial_line(). nullopt there: nothing waits.
  void show_partial_lines(JobTime now);
  std::optional<JobTime> next_partial_line() const { return mixer_.next_partial_line(); }
  void finish();  // the job is over: shows unfinished lines as they are

  // The agents' limits; the windows of all ranks together are bounded.
  OutputRules rules(std::size_t ranks) const;
  // From now on drops output instead of waiting for a slow reader, because the job is ending.
  void stop_waiting() { writer_.set_lossy(true); }

  // Of standard error; empty if there is no such rank.
  std::vector<std::string> last_lines(int rank) const;
  // Whether its standard error is part of ours.
  bool shows_errors(int rank) const { return on_screen(rank) && files_[1].empty(); }
  const std::vector<std::string>& messages() const { return messages_; }
  // Output that agents have skipped or the writer has dropped.
  std::size_t dropped_bytes() const { return skipped_bytes_ + writer_.dropped_bytes(); }
  int columns() const { return columns_; }  // for cards; 0: no terminal
  // The columns for a line of the rank's standard output, without its label. nullopt: no terminal
  // shows it, or a file gets it too, which progress bars would fill.
  std::optional<int> rank_columns(const LabelFacts& rank) const;

 private:
  void flush() { writer_.write(mixer_.take()); }
  void show_own(std::string_view text, std::string_view shown);
  bool on_screen(int rank) const;

  ConsoleOptions options_;
  bool terminal_;
  int output_;  // standard output if it is a terminal for progress bars; otherwise -1
  int screen_;  // the terminal with progress bars; -1: none
  int columns_;
  bool color_;  // of standard error
  LineMixer mixer_;
  std::vector<LineTail> tails_;
  RankFiles files_[2];  // for standard output, error
  std::vector<std::string> messages_;
  std::function<void(std::string_view)> said_;  // gets the texts of say(); may be empty
  std::size_t skipped_bytes_ = 0;
  mutable OutputWriter writer_;
};

// Says that dtlaunch itself could not write, and why.
std::string unwritten_text(Stream stream, int error_number);

// "37 bytes", "12.3 MB"
std::string size_text(std::uint64_t bytes);

}  // namespace dtl
