#pragma once
// LiveLines: the progress bars at the bottom of a terminal. A line that a rank keeps rewriting
// after carriage returns has a row of its own there; everything else is printed above. Otherwise
// the bars of several ranks would overwrite each other. LineMixer decides when to draw. Pure: gives
// the bytes, and remembers how many rows are on the screen.

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "base/job_time.h"

namespace dtl {

class LiveLines {
 public:
  void set_size(int columns, int rows) { columns_ = columns, rows_ = rows; }

  // source: LineMixer's index of a rank's stream.
  void update(std::size_t source, std::string text) { lines_[source] = std::move(text); }
  void remove(std::size_t source) { lines_.erase(source); }
  bool empty() const { return lines_.empty(); }
  bool drawn() const { return drawn_ > 0; }

  std::string draw();   // the cursor is at the start of an empty row
  std::string erase();  // back to that
 private:
  std::map<std::size_t, std::string> lines_;  // by source
  int columns_ = 80, rows_ = 24;
  int drawn_ = 0;  // rows
};

// The last thing that a terminal would show of a line with carriage returns in it.
std::string_view last_shown(std::string_view line);

// Cut to so many columns; escape sequences take none.
std::string cut_to_columns(std::string_view text, int columns);

}  // namespace dtl
