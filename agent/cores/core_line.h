#pragma once
// CoreLine: this agent's place in the node's line of jobs that wait for cores. It holds the ticket,
// and tells the launcher whenever what the job may use changes. plan/line has the rule. Belongs to
// the thread of its io_context.
//
// Others watch a ticket by a connection to it, which ends with the ticket. An agent watches the
// ticket just before its own, and, near the front, the processes that have claims. So the end of a
// job wakes those who may be next, and a long line costs little. It also looks by itself, the less
// often the farther behind it is.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/cores/tickets.h"
#include "base/fd.h"
#include "wire/asio.h"
#include "wire/messages.h"
#include "wire/task_group.h"

namespace dtl {

class CoreLine {
 public:
  // Both references outlive this. tell: called with CoresSeen, never from within take().
  CoreLine(asio::io_context& context, TaskGroup& tasks, std::string job_id, NodeTopology topology,
           std::function<void(CoresSeen)> tell);

  // Gets in line. The result is the answer; what follows goes to tell().
  CoresSeen take(TakeTicket order);
  // Gives the ticket back: the job has its cores, or ends.
  void leave();
  // While its launcher is stopped the job has no ticket, so nobody waits for it. It keeps its
  // place.
  void pause(bool paused);
  // What the job must leave to others now; as for Hello if it has no ticket.
  std::vector<CoreClaim> taken();
  // Call it about once a second, as CoreOwner::answer().
  void answer();

 private:
  struct View {
    std::vector<CoreClaim> claims;    // of others, and what is kept for tickets before this one
    std::vector<pid_t> holders;       // of the claims
    std::vector<NamedSocket> before;  // the ticket just before this one, if any
    std::size_t position = 0;         // 0: the first
    std::uint64_t starts_s = 0;       // as in CoresSeen
  };

  void bind_ticket();
  View look();
  void watch(const View& view);
  void wake_at(Fd watched);
  awaitable<void> run(std::shared_ptr<bool> in_line);
  CpuSet free_cpus(const std::vector<CoreClaim>& claims) const;

  asio::io_context& context_;
  TaskGroup& tasks_;
  const std::string job_id_;
  const NodeTopology topology_;
  const std::function<void(CoresSeen)> tell_;
  asio::steady_timer timer_;
  SeenTickets tickets_;
  std::optional<TakeTicket> order_;             // absent: not in line
  Fd ticket_;                                   // invalid: none, or it is paused
  std::chrono::milliseconds blocked_until_{0};  // as the ticket says
  std::vector<Fd> watchers_;                    // connections of those who watch the ticket
  std::vector<std::unique_ptr<asio::posix::stream_descriptor>> watched_;
  std::shared_ptr<bool> in_line_;           // false ends its run()
  bool woken_ = false;                      // something that is watched has ended
  std::chrono::milliseconds look_time_{0};  // of the last look(), which long lines make slow
  CpuSet told_free_;
  std::chrono::milliseconds told_start_{0};
};

}  // namespace dtl
