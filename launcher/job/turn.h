#pragma once
// Turn: the handling of one event in the job's state machine. It holds the job's current state, the
// time, and the effects so far. The functions of this folder take it one after the other. It lives
// for one call of step().

#include <string>
#include <utility>
#include <vector>

#include "launcher/job/job.h"

namespace dtl::job {

struct Turn {
  Job& job;
  JobTime now;
  std::vector<Effect> effects = {};

  bool ending() const { return job.state >= JobState::kStopping; }
  // Agents wait for this dtlaunch while it is stopped.
  bool may_pause() const {
    return job.state == JobState::kRunning || job.state == JobState::kWaiting;
  }
  NodeState& node(int index) { return job.nodes[static_cast<std::size_t>(index)]; }
  int node_count() const { return static_cast<int>(job.nodes.size()); }
  void send(int node, Message message) { effects.push_back(Send{node, std::move(message)}); }
  void send_to_all(const Message& message);  // to nodes that can be reached
  void notice(int node, std::string text) { effects.push_back(Notice{node, std::move(text)}); }
  // The node is gone from now on, whatever its phase was.
  void close(int node);
};

// Whether all of 0 to count-1 are done, and stay so. `known`: how many from the first on are known
// to be. All calls of a job together look at each of them about once.
template <typename Done>
bool all_done(std::size_t& known, std::size_t count, const Done& done) {
  while (known < count && done(known)) ++known;
  return known >= count;
}

bool gone(const RankState& rank);       // it will not run any more
bool reachable(const NodeState& node);  // messages can be sent to it
std::string seconds_text(JobTime time);

}  // namespace dtl::job
