#pragma once
// Membership: the hosts of an elastic job (--nnodes MIN:MAX, -np MIN:MAX), which others may join it
// and when, and which must leave. Hosts join and leave only between two epochs, because ranks are
// numbered when an epoch begins. A value without a clock, so tests/sim/elastic_world.cc can
// simulate thousands of histories. Pure: launcher/session/elastic_hosts.cc and membership_watch.cc
// ask the hosts and wait.
//
// All times count from the job's begin.

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

// How often the job has lost a host, and when it last lost or got it.
struct HostPast {
  int losses = 0;
  JobTime since{0};
  JobTime goes{0};  // until then it may still answer, but is about to be taken away
};

struct Membership {
  SizeRange range;  // how many hosts, or ranks, the job may have
  bool of_ranks = false;
  bool of_nodes = false;  // a scheduler adds and ends hosts: an unlisted one is about to end
  std::vector<Host> hosts, spares;     // with ranks; without, and assumed to be up
  std::vector<Host> away;              // lost, or newly listed: must be asked
  std::vector<std::string> answering;  // those in `away` that answer
  std::vector<std::string> unlisted;   // those in `hosts` that must leave
  std::map<std::string, HostPast> past;
  JobTime began{0};  // the running epoch
  int ranks = 0;     // of the running epoch
  int growths = 0;   // successive growths, each soon after the last
};

// Why the ranks must stop and start again: hosts that join and leave. Names are those of the
// hostfile.
struct HostsChange {
  std::vector<std::string> joining, leaving;
};

// An epoch has begun with this many ranks.
void begin_epoch(Membership& members, int ranks, JobTime now);

// The output of --discover: `listed` replaces the previous list. New hosts are in `away` until they
// answer; running hosts that are no longer listed must leave.
void list_hosts(Membership& members, const std::vector<Host>& listed, JobTime now);

// The hosts in `away` to ask now: there is room, and they were lost long enough ago. A host that is
// lost repeatedly is asked less and less often, because it would stop the ranks each time.
std::vector<Host> hosts_to_ask(const Membership& members, JobTime now);

// Their answers; `there` has one for each.
void note_answers(Membership& members, const std::vector<Host>& asked,
                  const std::vector<bool>& there);

// The change for which to end the running epoch. No host joins soon after the epoch's begin, since
// ranks may lose their work since the last checkpoint; the wait grows with each growth.
std::optional<HostsChange> change_of_hosts(const Membership& members, JobTime now);

// Between two epochs: removes the hosts `lost` from those `before`; spare ones replace them. Lost
// hosts are then in `away` and may come back.
void lose_hosts(Membership& members, const std::vector<Host>& before,
                const std::vector<std::string>& lost, JobTime now);

// A host that was told to go must not come back before it has gone.
void note_departure(Membership& members, const std::string& name, JobTime goes);
bool is_departing(const Membership& members, const std::string& name, JobTime now);

// Between two epochs: hosts of the change join and leave, and spare hosts fill the rest.
void apply_change(Membership& members, const HostsChange& change, JobTime now);

// Between two epochs: those hosts in `away` join at once.
void take_back(Membership& members, const std::vector<std::string>& names, JobTime now);

// The steps of regroup(), in which a simulation plants bugs.
struct RegroupSteps {
  std::function<decltype(change_of_hosts)> change = change_of_hosts;
  std::function<decltype(lose_hosts)> lose = lose_hosts;
  std::function<decltype(apply_change)> apply = apply_change;
};

// For each host: whether it still answers and nothing of the job is left there.
using AreClean = std::function<std::vector<bool>(const std::vector<Host>&)>;

// Between two epochs, all of the above: moves `lost` of the hosts `before` to `away`, then lets
// hosts join and leave, by the change that ended the epoch, or by the current one. Hosts that are
// not clean stay away. Returns what has changed.
HostsChange regroup(Membership& members, const std::vector<Host>& before,
                    const std::vector<std::string>& lost, std::optional<HostsChange> ended_for,
                    const AreClean& are_clean, JobTime now, const RegroupSteps& steps = {});

// Why the job cannot go on with these hosts; empty: it can. Placement alone checks ranks.
std::string too_few_hosts(const Membership& members);

// Whether an epoch ended because hosts come or go: --max-restarts does not count that.
bool is_change_of_hosts(const Outcome& outcome);

// "--nnodes 2:4"
std::string range_text(const Membership& members);

}  // namespace dtl
