#pragma once
// GatheredNodes: the first node's view of the other nodes of a job, which connect to it by
// themselves. It waits for them, has agents started on them, and says between two epochs which are
// there. A node has a place, which is 0 for this one, and a name, which the plan and messages use.
// JoinRoom's places begin with the second node, so they are one lower. JoinRoom's thread reports
// nodes that come and go; everything else runs on the caller's threads.

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "launcher/agents/agent_query.h"
#include "launcher/agents/agent_start.h"
#include "launcher/gather/node_role.h"
#include "launcher/join/join_room.h"
#include "launcher/session/epochs.h"
#include "launcher/session/session.h"

namespace dtl {

class GatheredNodes {
 public:
  explicit GatheredNodes(const NodeRole& role);  // role must outlive it

  // Waits until all nodes have connected; in an elastic job, until the minimum is there and nobody
  // has come for a while. Returns the names as a value of -hosts, or the exit status if a signal
  // came first. Throws Error(kTimeout), or Error(kConfig) if no node can connect.
  struct Gathered {
    std::string hosts;
    int status = 0;
  };
  Gathered gather();
  // Sets how a user reaches each host, for messages that suggest a command.
  void introduce(std::vector<Host>& hosts) const;
  // Makes the session's agents start on the nodes. A node that its scheduler ends leaves the job.
  void serve(SessionOptions& options, const StartOptions& start) const;
  // Answers a restart's questions about hosts from the nodes. `restarts` keeps functions that use
  // this object.
  void answer_for(RestartOptions& restarts, const StartOptions& start, const std::string& job_id);
  // Starts dtagent with other arguments on a node of the job, for fences and questions. The runner
  // must not outlive this object.
  AgentRunner runner(const StartOptions& start) const;
  // The hosts whose nodes are connected. Only these can have anything of the job left: nodes that
  // have left a stopped dtlaunch have ended their ranks themselves.
  std::vector<Host> still_here(std::vector<Host> hosts) const;
  // The status for this node's scheduler. Schedulers restart a node after a status of 128 or more,
  // so a lost node always gives such a status.
  static int exit_status(const Outcome& outcome);
  // Sends the job's exit status to all other nodes, which exit with it.
  void tell(int status);  // to all other nodes

 private:
  void open_room();
  // Runs on the room's thread.
  void told_to_stop(std::size_t place, const std::string& node);
  // By place; this node's is always true.
  std::vector<bool> there() const;
  std::string missing(const std::vector<bool>& there) const;
  Error too_late(const std::string& absent) const;
  void name_nodes();
  // Runs between two epochs, and during one on the thread that watches for hosts.
  std::vector<Host> list();
  void let_leavers_go();
  AgentStarter starter(StartOptions start) const;
  std::string name_of(std::size_t place) const;
  std::size_t place_of(const std::string& name) const;
  HostAccess access_of(std::size_t place) const;
  awaitable<std::unique_ptr<AgentStream>> start_on(asio::io_context& context,
                                                   std::size_t place) const;
  std::vector<Fenced> fence(const std::vector<Host>& hosts, const AgentRunner& run,
                            const std::string& job_id) const;

  const NodeRole& role_;
  const std::size_t least_, most_;  // nodes, this one included
  // Set by gather(); never null afterwards.
  std::unique_ptr<JoinRoom> room_;
  // The running session's, if nodes do not come and go; otherwise ElasticHosts has its own.
  const std::shared_ptr<SessionControl> control_ = std::make_shared<SessionControl>();

  // Guards the members below and room_'s first assignment, which the room's thread reads too.
  mutable std::mutex mutex_;
  // gather() has not returned yet, so no session runs that could be told.
  bool gathering_ = true;
  std::vector<std::string> called_;  // by place: their own host names; empty: never seen
  std::vector<std::string> names_;   // by place: their unique names in this job
};

}  // namespace dtl
