#pragma once
// LineTail: the last lines of a rank's standard error, for the failure card: they usually say why
// the rank failed. Kept for each rank from the start, because nobody knows which one will fail.
// Pure.

#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace dtl {

class LineTail {
 public:
  void feed(std::string_view bytes);
  std::vector<std::string> lines() const;  // at most 20, oldest first, without newlines;
                                           // a very long line is cut and ends with "..."

 private:
  // bytes: without a newline.
  void add_to_line(std::string_view bytes);

  std::deque<std::string> lines_;
  std::string current_;
};

}  // namespace dtl
