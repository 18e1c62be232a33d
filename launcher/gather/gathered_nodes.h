#pragma once
// GatheredNodes: what the first of a job's nodes knows of the others, which come to it by
// themselves. It waits for them, has agents started on them, and says between two epochs who is
// there.
// A node has a place, which is 0 for this one, and a name, by which the plan and messages know it.
// JoinRoom's places begin with the second node, so that they are one lower. JoinRoom's own thread
// hears who comes and who goes; all else happens on the caller's threads.

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
  explicit GatheredNodes(const NodeRole& role);  // which outlives it

  // Waits until all have come. In an elastic job it is enough when the least number is there and
  // nobody has come for a while. Returns the names as a value of -hosts, or the exit status when a
  // signal came first. Throws Error(kTimeout), and Error(kConfig) when nobody can come.
  struct Gathered {
    std::string hosts;
    int status = 0;
  };
  Gathered gather();
  // Fills in how a user reaches each host, for messages that suggest a command.
  void introduce(std::vector<Host>& hosts) const;
  // Has the session's agents start on the nodes. A node that its scheduler ends leaves the job.
  void serve(SessionOptions& options, const StartOptions& start) const;
  // What restarts ask of hosts is asked of the nodes. `restarts` keeps functions that use this
  // object.
  void answer_for(RestartOptions& restarts, const StartOptions& start, const std::string& job_id);
  // dtagent with other arguments on a node of the job, for fences and questions. The runner must
  // not outlive this object.
  AgentRunner runner(const StartOptions& start) const;
  // The hosts whose nodes are connected. Only there can anything of the job be left: nodes that
  // have left a stopped dtlaunch have ended their ranks themselves.
  std::vector<Host> still_here(std::vector<Host> hosts) const;
  // The status that this node's scheduler sees. Schedulers take 128 and more as "start again", so a
  // lost node has such a status, whatever that of the job is.
  static int exit_status(const Outcome& outcome);
  // Hands the job's exit status to all other nodes, which end with it.
  void tell(int status);  // all other nodes

 private:
  void open_room();
  // On the room's thread.
  void told_to_stop(std::size_t place, const std::string& node);
  // By place; this node's own is always true.
  std::vector<bool> there() const;
  std::string missing(const std::vector<bool>& there) const;
  Error too_late(const std::string& absent) const;
  void name_nodes();
  // Between two epochs, and while one runs on the thread that watches for hosts.
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
  // Made by gather(); never null afterwards.
  std::unique_ptr<JoinRoom> room_;
  // Of the running session, where nodes do not come and go. ElasticHosts has its own.
  const std::shared_ptr<SessionControl> control_ = std::make_shared<SessionControl>();

  // For the members below and room_'s first assignment: the room's thread reads them as well.
  mutable std::mutex mutex_;
  // gather() has not returned yet: no session runs that could be told.
  bool gathering_ = true;
  std::vector<std::string> called_;  // by place: their own host names; empty: never seen
  std::vector<std::string> names_;   // by place: and what they are called here, each differently
};

}  // namespace dtl
