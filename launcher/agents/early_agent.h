#pragma once
// EarlyAgent: a dtagent on this machine that runs before a session asks for one. It loads and
// detects the machine's facts while dtlaunch writes records and sets up the session.

#include <optional>
#include <string>
#include <vector>

#include "launcher/streams/child.h"

namespace dtl {

// Shared by all copies of a job's StartOptions; one thread. The destructor ends an agent that
// nobody took, and waits for its end.
class EarlyAgent {
 public:
  EarlyAgent() = default;
  EarlyAgent(const EarlyAgent&) = delete;
  EarlyAgent& operator=(const EarlyAgent&) = delete;
  ~EarlyAgent();

  // Never throws: without an early agent the session starts one itself, and reports why it cannot.
  void start(const std::vector<std::string>& command, int input);
  // The agent, once; nullopt if there is none.
  std::optional<Child> take();

 private:
  std::optional<Child> child_;
};

}  // namespace dtl
