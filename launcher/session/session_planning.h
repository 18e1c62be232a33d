#pragma once
// SessionPlanning: makes the job's plan from agents that are up: which rank runs where, over which
// network, with which environment. plan/ and launcher/network decide and are pure; this class
// exchanges their messages with the agents. Results are events for the state machine, which says
// when each step is due. Belongs to the session's thread. Functions that may refuse the job throw
// Error.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launcher/job/job.h"
#include "launcher/network/network.h"
#include "launcher/screen/console.h"
#include "launcher/session/python_check.h"
#include "launcher/session/session.h"
#include "launcher/session/session_node.h"
#include "plan/job_plan.h"
#include "plan/placement.h"

namespace dtl {

class SessionPlanning {
 public:
  // All references outlive this.
  SessionPlanning(const Request& request, const SessionOptions& options, const Job& job,
                  SessionNodes& nodes, Console& console);

  // The steps, in this order. All agents are up before the first one.
  job::Placed place();
  void probe(int round);  // sends one Reach to each used node
  job::Judged judge();
  // Returns Planned and shows the plan's warnings; after a dry run, which prints the plan, Refused.
  job::Event make_plan();
  void claim();  // sends one ClaimCores to each node of the plan

  // One Start to each node of the plan. wants_stdin: whether a rank gets standard input.
  void start(const std::function<bool(int rank)>& wants_stdin);

  // What an error of any of these means for the job. Tells the user, unless the job can wait.
  job::Event refusal(const Error& error);

  // 0 before place().
  std::size_t ranks() const { return places_.size(); }
  // Moves the plan into the session's result.
  std::optional<JobPlan> take_plan() { return std::move(plan_); }
  // What labels may show of a running rank; nullopt before there is a plan.
  std::optional<LabelFacts> describe(const Started& started, const std::string& host) const;
  // Empty before the network is chosen, and on a single machine.
  std::vector<std::string> network_reasons() const;

 private:
  std::vector<int> probed_hosts() const;
  std::vector<ProbedNode> probed_nodes() const;
  Network proved_network();
  void add_found_preloads();
  void compare_pythons();
  void check_container();
  void check_mpi();
  void tell_columns();
  ServePmi pmi_of_job() const;
  ServePmix pmix_of_job() const;
  void show_plan() const;

  const Request& request_;
  const SessionOptions& options_;
  const Job& job_;
  SessionNodes& nodes_;
  Console& console_;
  const InterfaceFilter interfaces_;
  std::optional<PythonCheck> python_check_;  // in the first epoch only
  bool told_aliases_ = false;
  std::vector<RankPlace> places_;
  std::optional<NetworkChoice> network_;
  std::optional<JobPlan> plan_;
  bool serves_pmix_ = false;
  std::vector<int> programs_;  // of each rank, once they start
};

}  // namespace dtl
