#pragma once
// ElasticHosts: the hosts of a job of no fixed size, from epoch to epoch: has them watched while
// one runs, and says between two with which the job goes on.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launcher/job/membership.h"
#include "launcher/session/membership_watch.h"
#include "launcher/session/session.h"

namespace dtl {

// --nnodes MIN:MAX, -np MIN:MAX, --discover.
struct ElasticOptions {
  SizeRange range;
  bool of_ranks = false;
  HostQuestions questions;
};

class ElasticHosts {
 public:
  using Clock = MembershipWatch::Clock;

  // hosts: empty for this machine, where none can join.
  ElasticHosts(const ElasticOptions& options, const std::vector<Host>& hosts,
               const std::vector<Host>& spares, Clock::time_point began);

  // Of the next session.
  std::shared_ptr<SessionControl> control();
  // All of its ranks run, from here on it is watched; and it has ended.
  void started(std::size_t ranks);
  void ended();

  // After an epoch with these hosts: without the lost ones, with those that join. is_clean: whether
  // nothing of the job runs on these. Empty: the job goes on with hosts(); else why not.
  std::string go_on(const SessionResult& result, const std::vector<std::string>& lost,
                    const std::function<std::vector<bool>(const std::vector<Host>&)>& is_clean);

  const std::vector<Host>& hosts() const { return members_.hosts; }

 private:
  JobTime now() const { return std::chrono::duration_cast<JobTime>(Clock::now() - began_); }
  void drop_unclean(HostsChange& change,
                    const std::function<std::vector<bool>(const std::vector<Host>&)>& is_clean);

  const HostQuestions questions_;
  const Clock::time_point began_;
  Membership members_;
  std::optional<HostsChange> change_;
  std::shared_ptr<SessionControl> control_;
  std::optional<MembershipWatch> watch_;
};

}  // namespace dtl
