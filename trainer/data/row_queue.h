#pragma once
// Rows of a data set of which some are read in advance: which columns hold texts is guessed from
// what the first rows hold. Not thread-safe.

#include <cstddef>
#include <exception>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "trainer/data/dataset_rows.h"

namespace dtl::trainer {

class RowQueue {
 public:
  // The reader must live as long.
  explicit RowQueue(RowReader& reader) : reader_(reader) {}

  // The first rows, `most` at most, before any of them is taken. One that cannot be read is thrown
  // by next() when its turn comes.
  std::span<const std::vector<std::string>> look_at(std::size_t most);
  // As RowReader::next().
  bool next(std::vector<std::string>& row);
  int line() const { return line_; }
  int element() const { return element_; }

 private:
  RowReader& reader_;
  std::vector<std::vector<std::string>> ahead_;
  std::vector<std::pair<int, int>> places_;  // of ahead_: line and element
  std::size_t taken_ = 0;                    // of ahead_
  std::exception_ptr fault_;
  int line_ = 0, element_ = 0;
};

}  // namespace dtl::trainer
