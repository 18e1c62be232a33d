#pragma once
// Ends what killed launchers and agents have left on this machine, while a job runs.

#include <thread>

#include "launcher/agents/agent_start.h"

namespace dtl {

class SweepHere {
 public:
  // Begins, on a thread, when there is something to look for.
  explicit SweepHere(const StartOptions& start);
  ~SweepHere();  // waits for its end
  SweepHere(const SweepHere&) = delete;
  SweepHere& operator=(const SweepHere&) = delete;

 private:
  std::thread thread_;
};

}  // namespace dtl
