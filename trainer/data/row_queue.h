#pragma once
// Reads some rows of a data set ahead, to guess text columns from the first rows. Not thread-safe.

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
  // The reader must outlive the queue.
  explicit RowQueue(RowReader& reader) : reader_(reader) {}

  // Reads at most `most` first rows, before any next(). An error in one of them is thrown by next()
  // when it reaches the row.
  std::span<const std::vector<std::string>> look_at(std::size_t most);
  // As RowReader::next().
  bool next(std::vector<std::string>& row);
  int line() const { return line_; }
  int element() const { return element_; }

 private:
  RowReader& reader_;
  std::vector<std::vector<std::string>> ahead_;
  std::vector<std::pair<int, int>> places_;  // for ahead_: line and element
  std::size_t taken_ = 0;                    // number of rows of ahead_ already returned
  std::exception_ptr fault_;
  int line_ = 0, element_ = 0;
};

}  // namespace dtl::trainer
