// Reuses a job's choice of a network, its errors and its detection of aliases. A separate check
// might say that a job starts where it does not.
#include "launcher/doctor/doctor_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "launcher/doctor/doctor_checks.h"
#include "plan/same_machine.h"

namespace dtl {
namespace {

// A ring is as fast as its slowest link. Below half of the median, the link and not noise is the
// cause.
constexpr double kSlowPart = 0.5;

// An Error becomes a finding word for word, so that doctor and a job say the same.
Finding from_error(const std::string& check, const Error& error, std::vector<std::string> hosts) {
  Finding finding;
  finding.level = Level::kError;
  finding.check = check;
  finding.hosts = std::move(hosts);
  finding.text = error.attempted();
  if (!error.reason().empty()) {
    finding.text += (error.reason().starts_with('\n') ? ":" : ": ") + error.reason();
  }
  finding.fix = error.hint();
  finding.exit_status = static_cast<int>(error.status());
  return finding;
}

// Names that a job would take for one node: two lines of a hostfile may mean the same machine.
void check_names(const std::vector<Examination>& hosts, std::vector<Finding>& findings) {
  std::vector<Host> named;
  std::vector<NodeFacts> facts;
  for (const Examination& each : hosts) {
    if (each.failure || !each.facts) continue;
    named.emplace_back().name = each.name;
    facts.push_back(*each.facts);
  }
  for (const std::string& line : describe_aliases(named, nodes_of_hosts(facts))) {
    findings.push_back({Level::kNote, "names", {}, line, {}, 0});
  }
}

// Does not throw: errors that would end a job are findings here.
void check_network(const std::vector<ProbedNode>& nodes, const InterfaceFilter& filter,
                   std::vector<Finding>& findings) {
  if (nodes.size() < 2) return;
  try {
    // Throws for hosts without an address that the filter allows. Round 2 leaves no address out.
    plan_probes(nodes, filter, 2);
  } catch (const Error& error) {
    findings.push_back(from_error("network", error, {}));
    return;
  }
  const auto choice = choose_network(nodes, filter);
  if (!choice) {
    findings.push_back(from_error("network", no_network(nodes, filter), {}));
    return;
  }
  for (std::size_t i = 0; i < choice->reasons.size(); ++i) {
    std::string text = choice->reasons[i];
    // The reasons are lines of -v, which name the check themselves.
    if (text.starts_with("network: ")) text.erase(0, 9);
    // The first reason says which network was chosen; the others say why not another.
    findings.push_back({i == 0 ? Level::kOk : Level::kNote, "network", {}, text, {}, 0});
  }
}

void check_large_packets(const std::vector<Examination>& hosts, std::vector<Finding>& findings) {
  std::map<std::string, std::vector<std::string>> failed;  // "to at address: problem" -> from
  std::size_t passed = 0;
  for (const Examination& host : hosts) {
    if (host.failure) continue;
    for (const Attempt& attempt : host.large_attempts) {
      if (attempt.reached) ++passed;
      // The number comes back from an agent, and is not trusted.
      if (attempt.reached || attempt.endpoint.node >= hosts.size()) continue;
      // Grouped by destination: if one host's MTU is wrong, all others fail to reach it.
      failed[fmt::format("{} at {}: {}", hosts[attempt.endpoint.node].name,
                         attempt.endpoint.address, attempt.problem)]
          .push_back(host.name);
    }
  }
  for (const auto& [what, from] : failed) {
    findings.push_back({Level::kError, "large packets", from, "to " + what,
                        "the same MTU everywhere, switches included; or let ICMP pass",
                        // An error: connections open and then hang, and so would the job's first
                        // large message.
                        static_cast<int>(Exit::kConfig)});
  }
  if (failed.empty() && passed > 0) {
    findings.push_back(
        {Level::kOk, "large packets", {}, fmt::format("pass on {} paths", passed), {}, 0});
  }
}

// By the error's text, because a start's Error has no phase. Tests compare the texts.
const char* phase_of(const Error& error) {
  if (error.attempted().find("resolve") != std::string::npos) return "name";
  if (error.attempted().find("connect to") != std::string::npos) return "port";
  if (error.reason().find("host key") != std::string::npos) return "host key";
  if (error.status() == Exit::kAuth) return "login";
  return "agent";
}

// A finding lists its hosts separately, and may concern several.
std::string without_name(const std::string& text, const std::string& name) {
  return text.starts_with(name + ": ") ? text.substr(name.size() + 2) : text;
}

void check_starts(const std::vector<Examination>& hosts, std::vector<Finding>& findings) {
  std::vector<std::string> up;
  for (const Examination& host : hosts) {
    if (!host.failure) {
      up.push_back(host.name);
      continue;
    }
    Finding finding = from_error(phase_of(*host.failure), *host.failure, {host.name});
    finding.text = without_name(finding.text, host.name);
    findings.push_back(std::move(finding));
  }
  if (up.empty()) return;
  findings.push_back(
      {Level::kOk, "start", up, "name, port, host key, login and dtagent " DTL_VERSION, {}, 0});
}

}  // namespace

std::vector<ProbedNode> probed_nodes(const std::vector<Examination>& hosts) {
  std::map<std::uint32_t, std::uint32_t> place;  // among the hosts -> among those that are up
  std::vector<ProbedNode> nodes;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const Examination& host = hosts[i];
    if (host.failure || !host.facts) continue;
    place.emplace(static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(nodes.size()));
    ProbedNode& node = nodes.emplace_back();
    node.name = host.name;
    node.nics = host.facts->nics;
    node.reached_at = host.facts->reached_at;
    node.own = host.own;
    node.listening = host.listening;
    node.attempts = host.attempts;
  }
  for (ProbedNode& node : nodes) {
    // A host may have gone after it was probed.
    std::erase_if(node.attempts,
                  [&](const Attempt& attempt) { return !place.contains(attempt.endpoint.node); });
    for (Attempt& attempt : node.attempts) attempt.endpoint.node = place[attempt.endpoint.node];
  }
  return nodes;
}

const char* level_name(Level level) {
  switch (level) {
    case Level::kOk:
      return "ok";
    case Level::kNote:
      return "note";
    case Level::kWarning:
      return "warning";
    case Level::kError:
      return "error";
  }
  return "?";
}

std::vector<Finding> find_all(const std::vector<Examination>& hosts,
                              const InterfaceFilter& filter) {
  std::vector<Finding> findings;
  // In the order in which a job would meet them.
  check_starts(hosts, findings);
  check_names(hosts, findings);
  check_network(probed_nodes(hosts), filter, findings);
  check_large_packets(hosts, findings);
  check_each_host(hosts, findings);
  check_equality(hosts, findings);
  std::stable_sort(findings.begin(), findings.end(),
                   [](const Finding& a, const Finding& b) { return a.level > b.level; });
  return findings;
}

std::vector<Finding> judge_links(const std::vector<std::string>& names,
                                 const std::vector<Link>& links) {
  std::vector<Finding> findings;
  std::vector<double> rates;
  for (const Link& link : links) {
    if (link.gbits >= 0) {
      rates.push_back(link.gbits);
      continue;
    }
    findings.push_back({Level::kWarning,
                        "bandwidth",
                        {names.at(link.from)},
                        fmt::format("the link to {} could not be measured", names.at(link.to)),
                        {},
                        0});
  }
  if (rates.empty()) return findings;
  std::sort(rates.begin(), rates.end());
  // Not the mean: one very slow link must not lower the mark for all.
  const double median = rates[rates.size() / 2];
  for (const Link& link : links) {
    if (link.gbits < 0 || link.gbits >= kSlowPart * median) continue;
    findings.push_back({Level::kWarning,
                        "bandwidth",
                        {names.at(link.from)},
                        fmt::format("{:.2f} Gbit/s to {}, while the median is {:.2f}", link.gbits,
                                    names.at(link.to), median),
                        "ethtool on both: speed, duplex, errors; then the cable and the switch",
                        0});
  }
  findings.push_back({Level::kOk,
                      "bandwidth",
                      {},
                      fmt::format("{:.2f} to {:.2f} Gbit/s on {} links", rates.front(),
                                  rates.back(), rates.size()),
                      {},
                      0});
  return findings;
}

int exit_status(const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) {
    // Findings are sorted by severity, so an error, if any, is the first. Some errors of checks
    // have no exit status of a job.
    if (finding.level == Level::kError) {
      return finding.exit_status != 0 ? finding.exit_status : static_cast<int>(Exit::kConfig);
    }
  }
  return 0;
}

}  // namespace dtl
