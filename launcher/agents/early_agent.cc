#include "launcher/agents/early_agent.h"

#include <poll.h>

#include <chrono>
#include <utility>

#include "base/error.h"
#include "base/limits.h"

namespace dtl {

EarlyAgent::~EarlyAgent() {
  if (!child_) return;
  child_->socket = Fd();  // the agent exits at the end of its input
  pollfd ended{child_->process.get(), POLLIN, 0};
  ::poll(&ended, 1, static_cast<int>(std::chrono::milliseconds(kDrainDeadline).count()));
}

void EarlyAgent::start(const std::vector<std::string>& command, int input) {
  try {
    child_.emplace(spawn_child(command, ChildErrors::kPiped, std::nullopt, input));
  } catch (const Error&) {
    child_.reset();
  }
}

std::optional<Child> EarlyAgent::take() {
  return std::exchange(child_, std::nullopt);
}

}  // namespace dtl
