#pragma once
// ElasticHosts: the hosts of an elastic job, from epoch to epoch. It has them watched during an
// epoch and chooses the hosts of the next one. Membership (launcher/restart) decides; this class
// asks the hosts, keeps the time and carries decisions out. Belongs to the session's thread.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launcher/restart/membership.h"
#include "launcher/session/held_signals.h"
#include "launcher/session/membership_watch.h"
#include "launcher/session/session.h"

namespace dtl {

// --nnodes MIN:MAX, -np MIN:MAX or --discover; or a scheduler that replaces lost nodes.
struct ElasticOptions {
  SizeRange range;  // 0:0: as many as at the job's begin
  bool of_ranks = false;
  bool of_nodes = false;  // hosts are a scheduler's nodes; see Membership
  // How long the job waits for more hosts; absent: no hosts arrive by themselves.
  std::optional<std::chrono::seconds> patience = {};
  HostQuestions questions;
};

class ElasticHosts {
 public:
  using Clock = MembershipWatch::Clock;

  // hosts: empty if the job runs on this machine alone, which no host can join.
  ElasticHosts(const ElasticOptions& options, const std::vector<Host>& hosts,
               const std::vector<Host>& spares, Clock::time_point began);

  // For the next session; it replaces the previous session's control.
  std::shared_ptr<SessionControl> control();
  // An epoch's ranks all run: starts the watch. And the epoch has ended.
  void started(std::size_t ranks);
  void ended();

  // Takes an epoch's result: removes the lost hosts and adds those that join. Returns empty if the
  // job can go on with hosts(), otherwise why it cannot.
  std::string go_on(const SessionResult& result, const std::vector<std::string>& lost,
                    const AreClean& are_clean);
  // Waits until `end` at the latest for more hosts if there are too few. Returns as go_on(), or
  // empty if `signal` is set.
  std::string wait_for_more(const HeldSignals& held, Clock::time_point end,
                            const AreClean& are_clean, std::optional<int>& signal);
  // Absent: no hosts arrive by themselves.
  std::optional<std::chrono::seconds> patience() const { return patience_; }

  const std::vector<Host>& hosts() const { return members_.hosts; }

 private:
  JobTime now() const { return std::chrono::duration_cast<JobTime>(Clock::now() - began_); }
  // Asks again which hosts are there. For nodes only: other hosts take seconds to answer.
  void look_again();
  // Sorts hosts by their places.
  void sort();

  const HostQuestions questions_;
  const std::optional<std::chrono::seconds> patience_;
  const Clock::time_point began_;
  Membership members_;
  std::vector<Host> listed_;  // of nodes: those present, by their places
  std::optional<HostsChange> change_;
  std::shared_ptr<SessionControl> control_;
  std::optional<MembershipWatch> watch_;
};

}  // namespace dtl
