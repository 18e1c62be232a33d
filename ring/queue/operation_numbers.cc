// Operations of different lanes complete out of order. Ranks tell each other a count without gaps,
// as in "this rank has left after 12 operations".
#include "ring/queue/operation_numbers.h"

#include <algorithm>

namespace dtl::ring {

OperationNumbers::OperationNumbers(int world)
    : sent_to_(static_cast<std::size_t>(world)), received_from_(static_cast<std::size_t>(world)) {}

std::uint64_t OperationNumbers::next(const Request& request) {
  if (request.opcode != Opcode::kPair) {
    note_.begin(next_collective_, request.opcode);
    return next_collective_++;
  }
  const auto peer = static_cast<std::size_t>(request.root);
  return ++(request.is_receive ? received_from_ : sent_to_)[peer];
}

// Short operations overtake long ones, so the count only advances when the gap closes.
void OperationNumbers::complete(const Operation& operation) {
  if (operation.lane() == Lane::kPair) return;
  std::uint64_t completed = completed_.load(std::memory_order_relaxed);
  if (completed_early_.empty() && operation.sequence() == completed + 1) {
    completed_.store(completed + 1, std::memory_order_relaxed);
    return note_.complete(completed + 1);
  }
  completed_early_.push_back(operation.sequence());
  const auto is_next = [&](std::uint64_t sequence) { return sequence == completed + 1; };
  for (auto at = completed_early_.end();
       (at = std::find_if(completed_early_.begin(), completed_early_.end(), is_next)) !=
       completed_early_.end();) {
    completed_early_.erase(at);
    ++completed;
  }
  completed_.store(completed, std::memory_order_relaxed);
  note_.complete(completed);
}

void OperationNumbers::restart() {
  first_number_.store(next_collective_ - 1);
  next_collective_ = 1;
  completed_.store(0);
  note_.restart();
}

}  // namespace dtl::ring
