// The wait counts from the last message to a lost host, not from its last answer: our messages
// renew its agent's lease, and may arrive although its answers do not.
#include "launcher/restart/next_hosts.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/limits.h"

namespace dtl {

std::vector<std::size_t> hosts_to_fence(const std::vector<HostAtEnd>& epoch) {
  std::vector<std::size_t> unsure;
  for (std::size_t i = 0; i < epoch.size(); ++i) {
    if (!epoch[i].not_up && !epoch[i].finished) unsure.push_back(i);
  }
  return unsure;
}

NextHosts next_hosts(const std::vector<HostAtEnd>& epoch, JobTime ended, std::vector<Host> hosts,
                     std::vector<Host> spares, bool fixed) {
  NextHosts next;
  for (const HostAtEnd& host : epoch) {
    if (host.not_up || host.told_to_go) next.left_out.push_back(host.name);
  }
  for (const std::size_t i : hosts_to_fence(epoch)) {
    if (epoch[i].fenced) continue;
    // A host that was told to go is listed already, but may not have ended its processes.
    if (!epoch[i].told_to_go) next.left_out.push_back(epoch[i].name);
    const JobTime fence = JobTime(kFence) + epoch[i].patience;
    // Part of the fence passed before the epoch ended.
    next.wait = std::max(next.wait, fence - (ended - epoch[i].last_told));
  }
  next.hosts = std::move(hosts);
  next.spares = std::move(spares);
  for (const std::string& name : next.left_out) {
    const auto has_name = [&](const Host& host) { return host.name == name; };
    const auto at = std::find_if(next.hosts.begin(), next.hosts.end(), has_name);
    if (at == next.hosts.end()) continue;
    if (!next.spares.empty()) {
      *at = next.spares.front();
      next.spares.erase(next.spares.begin());
      // A map of ranks refers to hosts by index; it would mean something else without one.
    } else if (fixed) {
      next.why = fmt::format("no spare host can take {}'s place", name);
      return next;
    } else {
      next.hosts.erase(at);
    }
  }
  if (next.hosts.empty()) next.why = "no host is left";
  return next;
}

}  // namespace dtl
