#pragma once
// HeldSignals: signals that end a job, held back while there is no session that could take them,
// such as between two epochs. One that comes waits until it is asked for, or goes to the next
// session.

#include <chrono>
#include <csignal>
#include <optional>

namespace dtl {

class HeldSignals {
 public:
  HeldSignals();
  // Sets the mask back; a signal that waits is then delivered.
  ~HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  // The signal that came before then; nullopt: none.
  // A signal that is returned is taken: the next session does not see it.
  std::optional<int> wait_until(std::chrono::steady_clock::time_point end) const;

 private:
  sigset_t signals_{}, before_{};
};

}  // namespace dtl
