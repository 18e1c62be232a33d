// Compares machine_id and boot_id together: clones of an image share the first, containers of one
// host the second. machine_id also includes the agent's namespaces and user (agent/node/detect.cc),
// since one agent cannot start ranks for another user or container.
#include "plan/same_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <tuple>

#include "base/text.h"
#include "plan/request/name_list.h"

namespace dtl {
namespace {

// A long hostfile with every name twice would fill the screen.
constexpr std::size_t kShownMachines = 4;

// Keys of `other`'s line that differ from those of the effective line. They have no effect, since a
// node can be pinned in only one way; the user should be told.
std::vector<std::string> overruled_keys(const Host& host, const Host& other) {
  std::vector<std::string> keys;
  const auto compare = [&](const char* key, const std::string& counts, const std::string& said) {
    if (!said.empty() && said != counts) keys.push_back(fmt::format("{}={}", key, said));
  };
  compare("pin_domain", host.pin_domain, other.pin_domain);
  compare("binding", host.binding, other.binding);
  compare("iface", host.interface, other.interface);
  return keys;
}

// "a, b and c", for any number of names.
std::string list_names(const std::vector<std::string>& names) {
  constexpr std::size_t kMostListed = 5;
  if (names.size() > kMostListed) return first_names(names);
  const std::span all(names);
  return fmt::format("{} and {}", join(all.first(all.size() - 1), ", "), all.back());
}

std::string describe_machine(const std::vector<Host>& hosts,
                             const std::vector<std::size_t>& names) {
  const Host& host = hosts[names[0]];
  std::vector<std::string> all = {host.name}, overruled;
  for (const std::size_t name : std::span(names).subspan(1)) {
    all.push_back(hosts[name].name);
    for (const std::string& key : overruled_keys(host, hosts[name])) overruled.push_back(key);
  }
  std::string text = fmt::format("{} are the same machine: they count as one node, {}",
                                 list_names(all), host.name);
  if (!overruled.empty()) {
    text +=
        fmt::format("; {} {} ignored", join(overruled, ", "), overruled.size() == 1 ? "is" : "are");
  }
  return text;
}

}  // namespace

// An agent with unknown ids counts as a separate machine: two machines mistaken for one would put
// all ranks on the first.
std::vector<int> nodes_of_hosts(const std::vector<NodeFacts>& facts) {
  std::map<std::tuple<std::string, std::string>, int> known;
  std::vector<int> first;
  for (const NodeFacts& node : facts) {
    const int own = static_cast<int>(first.size());
    const bool tells = !node.boot_id.empty() && !node.machine_id.empty();
    first.push_back(tells ? known.try_emplace({node.boot_id, node.machine_id}, own).first->second
                          : own);
  }
  return first;
}

// Tasks on one host may report different ids if each has its own namespace: an equal hostname joins
// them.
std::vector<int> nodes_of_tasks(const std::vector<NodeFacts>& facts) {
  std::vector<int> first = nodes_of_hosts(facts);
  std::map<std::string, int> known;
  for (std::size_t i = 0; i < facts.size(); ++i) {
    const std::string& name = facts[i].hostname;
    if (name.empty() || name == "localhost") continue;  // identifies nothing
    const int seen = known.try_emplace(name, first[i]).first->second;
    const int own = first[i];
    if (seen == own) continue;
    // Both groups are the same machine: all members get the lower number.
    std::replace(first.begin(), first.end(), std::max(seen, own), std::min(seen, own));
    known[name] = std::min(seen, own);
  }
  return first;
}

std::vector<std::string> describe_aliases(const std::vector<Host>& hosts,
                                          const std::vector<int>& first) {
  std::map<int, std::vector<std::size_t>> machines;
  for (std::size_t i = 0; i < hosts.size() && i < first.size(); ++i)
    machines[first[i]].push_back(i);
  std::vector<std::string> lines;
  std::size_t more = 0;
  for (const auto& [machine, names] : machines) {
    if (names.size() == 1) continue;
    if (lines.size() < kShownMachines) {
      lines.push_back(describe_machine(hosts, names));
    } else {
      ++more;
    }
  }
  if (more > 0) {
    lines.push_back(
        fmt::format("{} more machine{} named more than once", more, more == 1 ? " is" : "s are"));
  }
  return lines;
}

}  // namespace dtl
