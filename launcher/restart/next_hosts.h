#pragma once
// NextHosts: with which hosts a job goes on after an epoch, and when nothing of that epoch can run
// any more. Two ranks of one number must never be alive at once. So a host that did not report its
// end is asked again (fenced), or given the time after which its agent must have ended everything.
// Pure: epochs.cc of the session's room asks the hosts and waits.

#include <cstddef>
#include <string>
#include <vector>

#include "base/job_time.h"
#include "plan/request/host.h"

namespace dtl {

// A host of the epoch that has ended, as the launcher knows it.
struct HostAtEnd {
  std::string name;
  bool not_up = false;    // its agent never came up
  bool finished = false;  // its agent has said that nothing is left
  JobTime last_told{0};   // since then the launcher has sent it nothing that could renew its lease
  bool fenced = false;    // it has been asked since, and nothing of the job runs there any more
  JobTime patience{0};    // its agent waits so much longer for the launcher than its lease says
  bool told_to_go = false;  // it will not be there for long, whatever it says
};

struct NextHosts {
  std::vector<Host> hosts, spares;
  std::vector<std::string> left_out;
  JobTime wait{0};  // from the end of the epoch: until what the left-out ones ran has ended
  std::string why;  // the job cannot go on; empty: it can
};

// Those of which it is not known that nothing runs there, as indexes into `epoch`: to be fenced. A
// host that never came up has run nothing.
std::vector<std::size_t> hosts_to_fence(const std::vector<HostAtEnd>& epoch);

// A spare host takes a lost one's place; without one, the others have to do, unless `fixed`: then
// each host has the ranks that it was given. `ended`: the epoch, on the clock of last_told.
NextHosts next_hosts(const std::vector<HostAtEnd>& epoch, JobTime ended, std::vector<Host> hosts,
                     std::vector<Host> spares, bool fixed);

}  // namespace dtl
