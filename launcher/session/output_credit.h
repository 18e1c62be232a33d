#pragma once
// OutputCredit: how much output ranks may send. What the console has shown gives credit back to
// their agents, so a slow reader slows the ranks and the launcher's memory stays bounded. An agent
// that sends more than it may, or says too often that it skipped some, is not ours, and its
// conversation ends. It neither shows nor keeps output. Belongs to the session's thread, but for
// what a function says.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launcher/job/job.h"
#include "launcher/screen/console.h"
#include "launcher/session/session_node.h"

namespace dtl {

// What could not be written of standard output and of standard error; set by their writers'
// threads. It outlives the session, as the last output is written after it.
struct Unwritten {
  std::atomic<std::size_t> bytes[2] = {0, 0};
  std::atomic<int> first_error[2] = {0, 0};         // errno; 0: none
  std::atomic<std::int64_t> told_ms[2] = {-1, -1};  // when the user was told last; -1: never

  // Of one stream, on its writer's thread. The line for the user, where it is time for one.
  std::optional<std::string> add(Stream stream, int problem, std::size_t lost, JobTime now);
};

class OutputCredit {
 public:
  // All references outlive this.
  OutputCredit(const Console& console, const Job& job, SessionNodes& nodes)
      : console_(console), job_(job), nodes_(nodes) {}

  // What the writer has written, or dropped.
  void give_back(const std::vector<Credit>& shown);
  // Throw Error(kVersion) for an agent that sends too much.
  void count(int node, const Output& output);
  void count(const Skipped& skipped);

 private:
  const Console& console_;
  const Job& job_;
  SessionNodes& nodes_;
  // In bytes, by rank.
  std::vector<std::uint32_t> shown_;  // of each rank's output, and not yet credited
  std::vector<int> skips_;            // of each rank's output since it got credit
};

}  // namespace dtl
