#pragma once
// NextHosts: the hosts with which a job goes on after an epoch, and when nothing of that epoch can
// run any more. Two ranks with the same number must never run at once. So a host that did not
// report its end is asked again (fenced), or gets the time after which its agent must have ended
// everything. Pure: launcher/session/epochs.cc asks the hosts and waits.

#include <cstddef>
#include <string>
#include <vector>

#include "base/job_time.h"
#include "plan/request/host.h"

namespace dtl {

// A host of the epoch that has ended, as the launcher knows it.
struct HostAtEnd {
  std::string name;
  bool not_up = false;      // its agent never came up
  bool finished = false;    // its agent said that nothing is left
  JobTime last_told{0};     // the last message that could renew its lease
  bool fenced = false;      // it was asked since, and nothing of the job runs there
  JobTime patience{0};      // its agent waits this much longer than its lease
  bool told_to_go = false;  // it will soon be gone, whatever it says
};

struct NextHosts {
  std::vector<Host> hosts, spares;
  std::vector<std::string> left_out;
  JobTime wait{0};  // from the epoch's end until nothing runs on left-out hosts
  std::string why;  // why the job cannot go on; empty: it can
};

// The hosts to fence, as indexes into `epoch`: those where something may still run. A host that
// never came up has run nothing.
std::vector<std::size_t> hosts_to_fence(const std::vector<HostAtEnd>& epoch);

// A spare host replaces a lost one; without one, the job goes on with fewer hosts, unless `fixed`:
// then each host must keep its ranks. `ended`: the epoch's end, on the clock of last_told.
NextHosts next_hosts(const std::vector<HostAtEnd>& epoch, JobTime ended, std::vector<Host> hosts,
                     std::vector<Host> spares, bool fixed);

}  // namespace dtl
