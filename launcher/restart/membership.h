#pragma once
// Membership: which hosts a job of no fixed size has (--nnodes MIN:MAX, -np MIN:MAX), which of the
// others may join it and when, and which are to leave. Hosts come and go between two epochs alone,
// since a job's ranks are numbered when an epoch begins. A value without a clock, so that
// tests/sim/elastic_world.cc can run thousands of histories. Pure: elastic_hosts.cc and
// membership_watch.cc of the session's room ask the hosts and wait.
//
// All times are on the clock of the job, from its begin.

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/job_time.h"
#include "launcher/job/job_outcome.h"
#include "plan/request/host.h"
#include "plan/request/request.h"

namespace dtl {

// How often the job has lost a host, and when it did so or got it for the last time.
struct HostPast {
  int losses = 0;
  JobTime since{0};
  JobTime goes{0};  // up to then it may still answer, and is about to be taken away
};

struct Membership {
  SizeRange range;  // how many hosts, or ranks, there may be
  bool of_ranks = false;
  bool of_nodes = false;  // hosts come and go by themselves: one that is not listed is about to end
  std::vector<Host> hosts, spares;     // with ranks; without, and taken to be there
  std::vector<Host> away;              // lost, or listed since: to be asked
  std::vector<std::string> answering;  // of those that are away
  std::vector<std::string> unlisted;   // of `hosts`: not to be used any more
  std::map<std::string, HostPast> past;
  JobTime began{0};  // this epoch
  int ranks = 0;     // in it
  int growths = 0;   // one after the other, each soon after the one before
};

// Why the ranks are to be stopped and started again: hosts that join and leave. Hosts are named as
// in the host file.
struct HostsChange {
  std::vector<std::string> joining, leaving;
};

// An epoch has begun with so many ranks.
void begin_epoch(Membership& members, int ranks, JobTime now);

// What --discover has said: `listed` replaces what it said before. New hosts are away until they
// have answered; running ones that are not listed any more are to leave.
void list_hosts(Membership& members, const std::vector<Host>& listed, JobTime now);

// Those away whom it makes sense to ask now: there is room, and they were lost long enough ago. A
// host that is lost again and again is asked less and less often, or it would stop the ranks each
// time.
std::vector<Host> hosts_to_ask(const Membership& members, JobTime now);

// What they have answered; `there` has one for each.
void note_answers(Membership& members, const std::vector<Host>& asked,
                  const std::vector<bool>& there);

// What the running epoch is to be ended for. No host joins soon after the epoch's begin, and the
// later the more often that happened: what ranks did since their last checkpoint may be lost.
std::optional<HostsChange> change_of_hosts(const Membership& members, JobTime now);

// Between two epochs: the hosts `lost` of those `before` are taken out, and spare ones take their
// places. They are away from now on, and may come back.
void lose_hosts(Membership& members, const std::vector<Host>& before,
                const std::vector<std::string>& lost, JobTime now);

// A host that has been told to go does not come back before it has gone.
void note_departure(Membership& members, const std::string& name, JobTime goes);
bool is_departing(const Membership& members, const std::string& name, JobTime now);

// Between two epochs: those of the change join and leave, and spare hosts fill up the rest.
void apply_change(Membership& members, const HostsChange& change, JobTime now);

// Between two epochs: those away who are there join at once.
void take_back(Membership& members, const std::vector<std::string>& names, JobTime now);

// What regroup() is made of, by which a simulation plants mistakes in it.
struct RegroupSteps {
  std::function<decltype(change_of_hosts)> change = change_of_hosts;
  std::function<decltype(lose_hosts)> lose = lose_hosts;
  std::function<decltype(apply_change)> apply = apply_change;
};

// Which of the hosts that had answered are still there, and have nothing left of the job: one for
// each.
using AreClean = std::function<std::vector<bool>(const std::vector<Host>&)>;

// Between two epochs, all of the above: `lost` of the hosts `before` are away, and hosts join and
// leave, by the change that the epoch was ended for, or by the one that there is now. Who does not
// pass for clean stays away. Returns what has changed.
HostsChange regroup(Membership& members, const std::vector<Host>& before,
                    const std::vector<std::string>& lost, std::optional<HostsChange> ended_for,
                    const AreClean& are_clean, JobTime now, const RegroupSteps& steps = {});

// Why the job cannot go on with these hosts; empty: it can. Of ranks, placement alone knows.
std::string too_few_hosts(const Membership& members);

// Whether an epoch ended because of which hosts there are: --max-restarts does not count that.
bool is_change_of_hosts(const Outcome& outcome);

// "--nnodes 2:4"
std::string range_text(const Membership& members);

}  // namespace dtl
