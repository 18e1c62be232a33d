#pragma once
// LineFold: identical lines of several ranks become one, "[0-7] text": many programs print the same
// from each rank. A line waits at most kFoldDelay for the same line of other ranks. A rank's own
// lines keep their order. It makes no labels and writes nothing. Pure.

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/job_time.h"
#include "wire/messages.h"

namespace dtl {

struct FoldedLine {
  std::vector<int> ranks;  // in the order in which they came
  Stream stream = Stream::kStdout;
  std::string text;  // with its line end
};

class LineFold {
 public:
  explicit LineFold(std::size_t ranks) : ranks_(ranks) {}
  void set_ranks(std::size_t ranks) { ranks_ = ranks; }

  // kind: lines fold only with lines of the same kind (host, program ... as the label shows them).
  void add(int rank, const std::string& kind, Stream stream, std::string text, JobTime now);
  // Lines leave in the order in which the first rank said them.
  std::vector<FoldedLine> take_due(JobTime now);  // waited long enough, or said by every rank
  std::vector<FoldedLine> take_all();
  // When take_due() has something at the latest; nullopt: nothing waits.
  std::optional<JobTime> next_due() const;

 private:
  struct Group {
    FoldedLine line;
    std::string kind;
    std::vector<bool> has;  // by rank
    JobTime since{0};
  };
  FoldedLine take_first();

  std::size_t ranks_;
  std::deque<Group> groups_;
};

}  // namespace dtl
