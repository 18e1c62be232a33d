#pragma once
// Ends what killed launchers and agents have left on this machine, while a new job runs. Otherwise
// it would use memory and cores until somebody runs `dtlaunch clean`.

#include <thread>

#include "launcher/agents/agent_start.h"

namespace dtl {

class SweepHere {
 public:
  // Starts a thread only if records here show a dead job.
  explicit SweepHere(const StartOptions& start);
  ~SweepHere();  // waits for its end
  SweepHere(const SweepHere&) = delete;
  SweepHere& operator=(const SweepHere&) = delete;

 private:
  std::thread thread_;
};

}  // namespace dtl
