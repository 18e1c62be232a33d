#pragma once
// OutputCredit: limits how much output ranks may send. Agents get credit back for what the console
// has shown, so a slow reader slows the ranks and the launcher's memory stays bounded. An agent
// that sends more than its credit, or reports skipped output too often, breaks the protocol, and
// its conversation ends. Neither shows nor stores output. Belongs to the session's thread unless a
// function says otherwise.

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

// Failed writes to standard output and standard error, counted by their writers' threads. Outlives
// the session, which ends before the last output is written.
struct Unwritten {
  std::atomic<std::size_t> bytes[2] = {0, 0};
  std::atomic<int> first_error[2] = {0, 0};         // errno; 0: none
  std::atomic<std::int64_t> told_ms[2] = {-1, -1};  // when the user was last told; -1: never

  // Counts a failed write; on the stream's writer thread. Returns a line for the user if it is due.
  std::optional<std::string> add(Stream stream, int problem, std::size_t lost, JobTime now);
};

class OutputCredit {
 public:
  // All references outlive this.
  OutputCredit(const Console& console, const Job& job, SessionNodes& nodes)
      : console_(console), job_(job), nodes_(nodes) {}

  // Returns credit for what the writer has written or dropped.
  void give_back(const std::vector<Credit>& shown);
  // Throw Error(kVersion) for an agent that sends too much.
  void count(int node, const Output& output);
  void count(const Skipped& skipped);

 private:
  const Console& console_;
  const Job& job_;
  SessionNodes& nodes_;
  // In bytes, by rank.
  std::vector<std::uint32_t> shown_;  // bytes of each rank's output that are not yet credited
  std::vector<int> skips_;            // skips of each rank since its last credit
};

}  // namespace dtl
