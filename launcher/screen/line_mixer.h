#pragma once
// LineMixer: turns the ranks' bytes into whole lines, so that lines of two ranks never share one on
// the screen. One rank alone passes through byte for byte. It keeps what it has made until take();
// who writes it, and to which kind of file, is not known here. Pure.
//
// A line that is not finished (a prompt) is shown kPartialLineDelay after its first byte; when
// another rank writes before it is finished, a line end is put between them. With a label, it
// is put at the start of every line and, away from terminals, after every lone carriage return. On
// a terminal lines with carriage returns (progress bars) are kept apart: see live_lines.h.

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

// Some of the ranks' output on its way to a descriptor, and whose window it comes from.
struct Chunk {
  Stream stream = Stream::kStdout;
  std::string bytes;
  std::optional<Credit> credit = {};  // to be given back once this has been written
};

struct MixerOptions {
  LineLabel label;
  bool one_screen = false;         // standard output and error are the same terminal
  bool live[2] = {false, false};   // keep progress bars apart on standard output, error
  bool fold[2] = {false, false};   // identical lines of several ranks; only with a label
  bool color[2] = {false, false};  // of labels on standard output, error
  std::time_t began = 0;           // the wall clock at time 0
  int columns = 80, rows = 24;
};

class LineMixer {
 public:
  LineMixer(std::size_t ranks, MixerOptions options);
  // The simple case: "[rank] " or nothing in front, no terminal.
  LineMixer(std::size_t ranks, bool label, bool one_screen);
  void set_ranks(std::size_t ranks);
  void set_rank(int rank, LabelFacts facts);  // for labels that say more than the rank
  void set_size(int columns, int rows);       // of the terminal, which may change

  // Large pieces are taken over and passed on as they are.
  // Bytes of ranks that are not there are dropped.
  void feed(int rank, Stream stream, std::string bytes, JobTime now);
  // A line of dtlaunch's own in the place of output that is missing.
  void note(int rank, Stream stream, std::string_view line, JobTime now);
  void rank_ended(int rank);  // shows what is left of its last lines
  void finish();              // the same for all
  // What waited long enough: unfinished lines, folded lines, progress bars.
  void show_partial_lines(JobTime now);
  // When show_partial_lines may have something to do; perhaps too early, never too late.
  std::optional<JobTime> next_partial_line() const;
  // Whole lines of dtlaunch itself, for standard error.
  void say(std::string_view lines);

  // What has been made since the last call, in order.
  std::vector<Chunk> take();

 private:
  // One stream of one rank.
  struct Source {
    std::string pending;  // of an unfinished line
    std::optional<JobTime> since;
    bool labelled = false;  // the label of the current line is on the screen
    bool live = false;      // it is a progress bar
  };
  // Where lines end up: standard output and error, or the one terminal that both are.
  struct Screen {
    std::optional<std::size_t> owner;  // the source whose unfinished line the cursor is on
    LiveLines bars;
    Stream bars_on = Stream::kStderr;  // where they are drawn
    std::optional<JobTime> redraw;     // when the bars are to be drawn
    JobTime drawn{-1h};
    LineFold fold{0};
  };

  // Indexes of sources: rank * 2, and 1 more for standard error.
  Source& source(std::size_t index) { return sources_[index]; }
  std::size_t screen_index(Stream stream) const {
    return one_screen() || stream == Stream::kStdout ? 0 : 1;
  }
  Screen& screen(Stream stream) { return screens_[screen_index(stream)]; }
  bool one_screen() const { return options_.one_screen; }
  // More than one rank: a rank alone draws its bars itself.
  bool live(Stream stream) const {
    return options_.live[stream == Stream::kStdout ? 0 : 1] && sources_.size() > 2;
  }
  std::string label_of(const LabelFacts& facts, Stream stream) const;
  void show_at_once(std::size_t index, Stream stream, std::string bytes);
  void show_lines(std::size_t index, Stream stream, std::string_view bytes, JobTime now);
  void show_live(std::size_t index, Stream stream, JobTime now);
  // Of long lines the string itself is handed on, which saves a copy of all output.
  // owner: what has the text, all of it, and may lose it; nullptr: somebody else needs it.
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
  std::size_t chunk_bytes_ = 0;      // what a new chunk is likely to need
  std::optional<JobTime> next_due_;  // of an unfinished line
  JobTime now_{0};
};

}  // namespace dtl
