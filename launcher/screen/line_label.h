#pragma once
// LineLabel: the label before each line of a rank, and the names of per-rank files, from a pattern
// with Hydra's letters: %r rank, %g the program's number on the command line, %p pid, %h host, %t
// time of day, %% a percent sign. The pattern is parsed once and rendered for each line. Pure.

#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include "wire/messages.h"

namespace dtl {

struct LabelFacts {
  std::string rank;  // "3", or "0-3" for a folded line
  int program = 0;
  std::uint32_t pid = 0;
  std::string host;
};

class LineLabel {
 public:
  LineLabel() = default;  // no label

  // Throws Error(kUsage) for an unknown % and for control characters.
  // An empty pattern gives no label.
  static LineLabel parse(std::string_view pattern);
  // Open MPI's --tag-output and --timestamp-output: "[1,3]<stdout>:".
  static LineLabel open_mpi(bool tag, bool time);

  bool empty() const { return pieces_.empty(); }
  // now: the wall clock, shown in this machine's time zone.
  std::string text(const LabelFacts& facts, Stream stream, std::time_t now) const;

 private:
  enum class Kind { kText, kRank, kProgram, kPid, kHost, kTime, kDate, kStream };
  struct Piece {
    Kind kind = Kind::kText;
    std::string text;
  };
  std::vector<Piece> pieces_;
};

}  // namespace dtl
