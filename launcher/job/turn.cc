// seconds_text() rounds, because the deadlines in messages are whole seconds.
#include "launcher/job/turn.h"

#include <fmt/format.h>

namespace dtl::job {

bool gone(const RankState& rank) {
  return rank.phase != RankPhase::kWaiting && rank.phase != RankPhase::kStarted;
}

bool reachable(const NodeState& node) {
  return node.phase == NodePhase::kReady || node.phase == NodePhase::kEnding;
}

std::string seconds_text(JobTime time) {
  return fmt::format("{} s", (time + 500ms) / 1s);
}

void Turn::send_to_all(const Message& message) {
  for (int node = 0; node < node_count(); ++node) {
    if (reachable(this->node(node))) send(node, message);
  }
}

void Turn::close(int node) {
  effects.push_back(CloseNode{node});
  this->node(node).phase = NodePhase::kGone;
}

}  // namespace dtl::job
