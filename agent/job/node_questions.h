#pragma once
// NodeQuestions: answers the launcher's questions about the node: which nodes it reaches, its
// facts, its cloud's notices, and leftovers of dead jobs. Owned by the session; one io_context
// thread, plus threads for slow questions. Knows nothing of ranks.

#include <string>
#include <thread>
#include <vector>

#include "agent/container/node_container.h"
#include "agent/node/probe.h"
#include "wire/asio.h"
#include "wire/connection.h"
#include "wire/task_group.h"

namespace dtl {

class NodeQuestions {
 public:
  // own_folder: dtagent's folder. addresses: where others may reach this node. All references
  // outlive this. Sends its answers and notices to the connection.
  NodeQuestions(asio::io_context& context, TaskGroup& tasks, Connection& connection,
                NodeContainer& container, std::string own_folder, std::string job_id,
                std::vector<std::string> addresses);

  void sweep();  // once
  void listen(const Listen& how);
  void stop_listening() { listener_.close(); }
  void reach(const Reach& wanted);
  void examine(const Examine& question);
  // Where the last question about PMIx found libpmix.so.2; empty: the loader finds it.
  const std::string& pmix_libraries() const { return pmix_libraries_; }
  // The OPAL_PREFIX that it found; may be empty.
  const std::string& open_mpi_prefix() const { return open_mpi_prefix_; }
  bool needs_pmix() const { return needs_pmix_; }
  void watch_for_notices(Cloud cloud);

 private:
  awaitable<void> tell_reached(Reach wanted);

  asio::io_context& context_;
  TaskGroup& tasks_;
  Connection& connection_;
  NodeContainer& container_;
  const std::string own_folder_, job_id_;
  Listener listener_;
  bool watches_cloud_ = false;
  std::string pmix_libraries_, open_mpi_prefix_;
  bool needs_pmix_ = true;
  std::jthread sweeper_;
  std::jthread examiner_;  // last: joined before the members that it uses are destroyed
};

}  // namespace dtl
