#pragma once
// ElasticHosts: the hosts of a job of no fixed size, from epoch to epoch. It has them watched while
// one runs, and says between two with which the job goes on. What follows from what is Membership's
// to decide (launcher/restart); here it is asked, timed and carried out. Belongs to the session's
// thread.

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

// --nnodes MIN:MAX, -np MIN:MAX, --discover; or nodes that a scheduler makes anew.
struct ElasticOptions {
  SizeRange range;  // 0:0: as many as at the begin
  bool of_ranks = false;
  bool of_nodes = false;  // as Membership has it
  // How long the job waits when there are too few hosts; absent: they do not come by themselves.
  std::optional<std::chrono::seconds> patience = {};
  HostQuestions questions;
};

class ElasticHosts {
 public:
  using Clock = MembershipWatch::Clock;

  // hosts: empty for this machine, where none can join.
  ElasticHosts(const ElasticOptions& options, const std::vector<Host>& hosts,
               const std::vector<Host>& spares, Clock::time_point began);

  // For the next session; the control of the one before is of no more use.
  std::shared_ptr<SessionControl> control();
  // All of its ranks run, from here on it is watched; and it has ended.
  void started(std::size_t ranks);
  void ended();

  // After an epoch with these hosts: without the lost ones, with those that join. Empty: the job
  // goes on with hosts(); else why not.
  std::string go_on(const SessionResult& result, const std::vector<std::string>& lost,
                    const AreClean& are_clean);
  // Then, when there are too few: waits for others, no longer than `end`. Empty as above, or the
  // signal came.
  std::string wait_for_more(const HeldSignals& held, Clock::time_point end,
                            const AreClean& are_clean, std::optional<int>& signal);
  // Absent: hosts do not come by themselves.
  std::optional<std::chrono::seconds> patience() const { return patience_; }

  const std::vector<Host>& hosts() const { return members_.hosts; }

 private:
  JobTime now() const { return std::chrono::duration_cast<JobTime>(Clock::now() - began_); }
  // Asks who is there now. Of nodes alone: they answer at once, hosts take seconds.
  void look_again();
  // Brings hosts into the order of their places.
  void sort();

  const HostQuestions questions_;
  const std::optional<std::chrono::seconds> patience_;
  const Clock::time_point began_;
  Membership members_;
  std::vector<Host> listed_;  // of nodes: who is there, in the order of their places
  std::optional<HostsChange> change_;
  std::shared_ptr<SessionControl> control_;
  std::optional<MembershipWatch> watch_;
};

}  // namespace dtl
