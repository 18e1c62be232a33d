#pragma once
// LineTail: the last lines of a rank's standard error, for the failure card: they usually say why
// the rank failed. It is kept for each rank from the start, as nobody knows which one will fail.
// Pure.

#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace dtl {

class LineTail {
 public:
  void feed(std::string_view bytes);
  std::vector<std::string> lines() const;  // at most 20, oldest first, without line ends;
                                           // of a very long one the beginning, and "..."

 private:
  // Without its line end.
  void add_to_line(std::string_view bytes);

  std::deque<std::string> lines_;
  std::string current_;
};

}  // namespace dtl
