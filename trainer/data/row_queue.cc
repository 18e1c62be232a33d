// Errors in rows read ahead are kept until next(): a limit may exclude these rows.
#include "trainer/data/row_queue.h"

#include <tuple>

#include "base/error.h"

namespace dtl::trainer {

std::span<const std::vector<std::string>> RowQueue::look_at(std::size_t most) {
  try {
    for (std::vector<std::string> row; ahead_.size() < most && reader_.next(row);) {
      ahead_.push_back(row);
      places_.emplace_back(reader_.line(), reader_.element());
    }
  } catch (const Error&) {
    fault_ = std::current_exception();
  }
  return ahead_;
}

bool RowQueue::next(std::vector<std::string>& row) {
  if (taken_ < ahead_.size()) {
    row = std::move(ahead_[taken_]);
    std::tie(line_, element_) = places_[taken_++];
    return true;
  }
  if (fault_) std::rethrow_exception(fault_);
  if (!reader_.next(row)) return false;
  line_ = reader_.line();
  element_ = reader_.element();
  return true;
}

}  // namespace dtl::trainer
