#pragma once
// Signals that end a job, held back while there is no session that could take them.

#include <chrono>
#include <csignal>
#include <optional>

namespace dtl {

class HeldSignals {
 public:
  HeldSignals();
  ~HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  // The signal that came before then; nullopt: none.
  std::optional<int> wait_until(std::chrono::steady_clock::time_point end) const;

 private:
  sigset_t signals_{}, before_{};
};

}  // namespace dtl
