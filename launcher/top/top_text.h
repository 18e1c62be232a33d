#pragma once
// What `dtlaunch top` shows: lines about hosts and cores, then a block for each job with a row for
// each rank. Pure, and ASCII unless hosts or commands have other characters.

#include <cstddef>
#include <optional>
#include <string>

#include "launcher/top/top_view.h"

namespace dtl {

struct TopPage {
  // Of the terminal, of which 80 are enough; nullopt: nothing is cut, and all columns are shown.
  std::optional<int> columns;
  // nullopt: every rank has a row. Otherwise at most this many lines; if ranks do not fit, those
  // that keep others waiting come first, then those that use most CPU.
  std::optional<std::size_t> rows;
  bool color = false;
  std::string time;  // "14:03:22", for the first line; may be empty
};

std::string top_text(const TopView& view, const TopPage& page);

}  // namespace dtl
