#pragma once
// LineFold: folds identical lines of several ranks into one, "[0-7] text", because many programs
// print the same from each rank. A line waits at most kFoldDelay for other ranks. A rank's own
// lines keep their order. It makes no labels and writes nothing. Pure.

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/job_time.h"
#include "wire/messages.h"

namespace dtl {

struct FoldedLine {
  std::vector<int> ranks;  // in the order of arrival
  Stream stream = Stream::kStdout;
  std::string text;  // with its newline
};

class LineFold {
 public:
  explicit LineFold(std::size_t ranks) : ranks_(ranks) {}
  void set_ranks(std::size_t ranks) { ranks_ = ranks; }

  // kind: only lines of the same kind (host, program ... as the label shows them) are folded.
  void add(int rank, const std::string& kind, Stream stream, std::string text, JobTime now);
  // Lines leave in the order of their first rank's output.
  std::vector<FoldedLine> take_due(JobTime now);  // after the delay, or complete
  std::vector<FoldedLine> take_all();
  // The latest time at which take_due() has something; nullopt: nothing waits.
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
