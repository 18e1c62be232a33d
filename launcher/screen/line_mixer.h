#pragma once
// LineMixer: turns the ranks' bytes into whole lines, so that lines of two ranks never share one on
// the screen. The bytes of a single rank pass through unchanged. It keeps its output until take()
// and does not know who writes it, or to which kind of file. Pure.
//
// An unfinished line (a prompt) is shown kPartialLineDelay after its first byte; if another rank
// writes before it is finished, a newline separates them. A label is put at the start of every line
// and, if the output is not a terminal, after every single carriage return. On a terminal lines
// with carriage returns (progress bars) are kept apart: see live_lines.h.

#include <cstddef>
#include <ctime>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/job_time.h"
#include "base/limits.h"
#include "launcher/screen/line_fold.h"
#include "launcher/screen/line_label.h"
#include "launcher/screen/live_lines.h"
#include "wire/messages.h"

namespace dtl {

// Part of the ranks' output for a descriptor, and whose window it uses.
struct Chunk {
  Stream stream = Stream::kStdout;
  std::string bytes;
  std::optional<Credit> credit = {};  // returned when this chunk has been written
};

struct MixerOptions {
  LineLabel label;
  bool one_screen = false;         // standard output and error are the same terminal
  bool live[2] = {false, false};   // keep progress bars apart on standard output, error
  bool fold[2] = {false, false};   // fold identical lines of several ranks; only with a label
  bool color[2] = {false, false};  // of labels on standard output, error
  std::time_t began = 0;           // the wall clock at time 0
  int columns = 80, rows = 24;
};

class LineMixer {
 public:
  LineMixer(std::size_t ranks, MixerOptions options);
  // The simple case: "[rank] " or no label, no terminal.
  LineMixer(std::size_t ranks, bool label, bool one_screen);
  void set_ranks(std::size_t ranks);
  void set_rank(int rank, LabelFacts facts);  // for labels with more than the rank
  void set_size(int columns, int rows);       // of the terminal, which may be resized

  // Passes large pieces on without a copy. Drops bytes of ranks that do not exist.
  void feed(int rank, Stream stream, std::string bytes, JobTime now);
  // A line from dtlaunch in place of missing output.
  void note(int rank, Stream stream, std::string_view line, JobTime now);
  void rank_ended(int rank);  // shows its unfinished lines
  void finish();              // the same for all ranks
  // Shows what waited long enough: unfinished lines, folded lines, progress bars.
  void show_partial_lines(JobTime now);
  // When show_partial_lines() may have work; perhaps too early, never too late.
  std::optional<JobTime> next_partial_line() const;
  // Whole lines from dtlaunch itself, for standard error.
  void say(std::string_view lines);

  // The chunks since the last call, in order.
  std::vector<Chunk> take();

 private:
  // One stream of one rank.
  struct Source {
    std::string pending;  // of an unfinished line
    std::optional<JobTime> since;
    bool labelled = false;  // the current line's label is on the screen
    bool live = false;      // the line is a progress bar
  };
  // Where lines are shown: standard output and error, or one terminal for both.
  struct Screen {
    std::optional<std::size_t> owner;  // the source whose unfinished line has the cursor
    LiveLines bars;
    Stream bars_on = Stream::kStderr;  // where bars are drawn
    std::optional<JobTime> redraw;     // when to draw the bars
    JobTime drawn{-1h};
    LineFold fold{0};
  };

  // Indexes of sources: rank * 2, plus 1 for standard error.
  Source& source(std::size_t index) { return sources_[index]; }
  std::size_t screen_index(Stream stream) const {
    return one_screen() || stream == Stream::kStdout ? 0 : 1;
  }
  Screen& screen(Stream stream) { return screens_[screen_index(stream)]; }
  bool one_screen() const { return options_.one_screen; }
  // Only for more than one rank: a single rank draws its bars itself.
  bool live(Stream stream) const {
    return options_.live[stream == Stream::kStdout ? 0 : 1] && sources_.size() > 2;
  }
  std::string label_of(const LabelFacts& facts, Stream stream) const;
  void show_at_once(std::size_t index, Stream stream, std::string bytes);
  void show_lines(std::size_t index, Stream stream, std::string_view bytes, JobTime now);
  void show_live(std::size_t index, Stream stream, JobTime now);
  // Passes on the string of a long line, which saves a copy. owner: the string that is exactly this
  // text and may be moved from; nullptr: it must be kept.
  void whole_line(std::size_t index, Stream stream, std::string_view text, std::string* owner,
                  JobTime now);
  void show(std::size_t index, Stream stream, std::string_view text, std::string* owner = nullptr);
  void show_folded(Screen& on, std::vector<FoldedLine> lines);
  void make_way(std::size_t index, Stream stream);
  void hide_bars(Screen& on, Stream stream);
  void draw_bars(Screen& on, Stream stream, JobTime now);
  void settle(Stream stream, JobTime now);
  void put(Stream stream, std::string_view text, std::string* owner = nullptr);

  MixerOptions options_;
  std::deque<Source> sources_;  // rank * 2 + (stderr ? 1 : 0)
  // By rank.
  std::vector<LabelFacts> facts_;
  Screen screens_[2];
  std::vector<Chunk> chunks_;
  std::size_t chunk_bytes_ = 0;      // expected size of a new chunk
  std::optional<JobTime> next_due_;  // of an unfinished line
  JobTime now_{0};
};

}  // namespace dtl
