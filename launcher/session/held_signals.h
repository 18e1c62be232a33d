#pragma once
// HeldSignals: holds back signals that end a job while no session can handle them, such as between
// two epochs. A signal that arrives stays pending until wait_until() takes it or the next session
// handles it.

#include <chrono>
#include <csignal>
#include <optional>

namespace dtl {

class HeldSignals {
 public:
  HeldSignals();
  // Restores the mask; a pending signal is then delivered.
  ~HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  // The signal that arrived before `end`; nullopt: none. A returned signal is consumed: the next
  // session does not see it.
  std::optional<int> wait_until(std::chrono::steady_clock::time_point end) const;

 private:
  sigset_t signals_{}, before_{};
};

}  // namespace dtl
