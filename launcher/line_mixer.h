#pragma once
// LineMixer: turns the ranks' bytes into whole lines, so that lines of two ranks never share one
// on the screen. One rank alone passes through byte for byte. Pure.
//
// A line that is not finished (a prompt, a progress bar) is shown kPartialLineDelay after its first
// byte; when another rank writes before it is finished, a line end is put between them. With a
// label, "[rank] " stands at the start of every line and after every lone carriage return.

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/job.h"
#include "wire/messages.h"

namespace dtl {

struct Chunk {
  Stream stream = Stream::kStdout;
  std::string bytes;
};

class LineMixer {
 public:
  // one_screen: standard output and error are the same terminal.
  LineMixer(std::size_t ranks, bool label, bool one_screen);
  void set_ranks(std::size_t ranks) { sources_.resize(ranks * 2); }

  void feed(int rank, Stream stream, std::string_view bytes, Time now);
  void rank_ended(int rank);  // shows what is left of its last lines
  void show_partial_lines(Time now);
  // When show_partial_lines may have something to do; perhaps too early, never too late.
  std::optional<Time> next_partial_line() const { return next_due_; }
  // Whole lines of dtlaunch itself, for standard error.
  void say(std::string_view lines);

  std::vector<Chunk> take();

 private:
  struct Source {
    std::string pending;
    std::size_t scanned = 0;  // pending[0, scanned) has no end of line
    std::optional<Time> since;
    bool labelled = false;  // the label of the current line is on the screen
  };
  struct Screen {
    std::optional<std::size_t> owner;  // the source whose unfinished line the cursor is on
  };

  Source& source(std::size_t index) { return sources_[index]; }
  Screen& screen(Stream stream) {
    return screens_[one_screen_ || stream == Stream::kStdout ? 0 : 1];
  }
  void show_lines(std::size_t index, Stream stream);
  void show(std::size_t index, Stream stream, std::string_view text);
  void make_way(std::size_t index, Stream stream);
  void put(Stream stream, std::string_view text);

  bool label_, one_screen_;
  std::deque<Source> sources_;  // rank * 2 + (stderr ? 1 : 0)
  Screen screens_[2];
  std::vector<Chunk> chunks_;
  std::optional<Time> next_due_;
};

// The last lines of a rank's standard error, for the failure card.
class LineTail {
 public:
  void feed(std::string_view bytes);
  std::vector<std::string> lines() const;  // at most 20, oldest first, without line ends

 private:
  std::deque<std::string> lines_;
  std::string current_;
};

}  // namespace dtl
