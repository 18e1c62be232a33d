#pragma once
// LiveLines: the progress bars at the bottom of a terminal. Each line that a rank rewrites with
// carriage returns has its own row there; all other output is printed above. Otherwise the bars of
// several ranks would overwrite each other. LineMixer decides when to draw. Pure: returns the bytes
// to write, and remembers how many rows are on the screen.

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

  std::string draw();   // the cursor must be at the start of an empty row
  std::string erase();  // clears the bars; the cursor is there again
 private:
  std::map<std::size_t, std::string> lines_;  // by source
  int columns_ = 80, rows_ = 24;
  int drawn_ = 0;  // rows
};

// What a terminal finally shows of a line with carriage returns.
std::string_view last_shown(std::string_view line);

// Programs remove a bar by overwriting it with blanks.
bool is_blank(std::string_view text);

// The text cut to this many columns; escape sequences take none.
std::string cut_to_columns(std::string_view text, int columns);

}  // namespace dtl
