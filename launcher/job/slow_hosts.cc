// Compares shares of time, not times: agents only take samples, and no rank has to measure
// anything.
#include "launcher/job/slow_hosts.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/limits.h"

namespace dtl {
namespace {

// This many looks measure a share to 3 %, so the differences below are not chance.
constexpr std::uint64_t kWindowLooks = kSlowWindow / kLookAtRanks;
constexpr std::uint64_t kLeastSteps = 10;  // collectives in a window: fewer are not steps
constexpr double kLeastDifference = 0.15;  // of the shares of time in collectives
constexpr double kLeastRatio = 1.25;       // of the times to compute

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace

void SlowHosts::report(const RankReport& report, int node) {
  for (const CommState& state : report.comms) {
    if (state.rank >= state.world || state.world < 2) continue;
    Comm& comm = comms_[state.id];
    comm.world = state.world;
    Member& member = comm.members[state.rank];
    // The rank may have made steps before the first report; only those in the window count.
    if (!std::exchange(member.begun, true)) member.first = state.completed;
    const int rank = static_cast<int>(report.rank);
    if (std::exchange(member.rank, rank) != rank) {
      places_[rank].emplace_back(state.id, state.rank);
    }
    member.node = node;
    member.looks += state.looks;
    // More would give a share above 1.
    member.waits += std::min(state.waits, state.looks);
    member.last = state.completed;
  }
}

void SlowHosts::forget(int rank) {
  for (const auto& [id, place] : places_[rank]) {
    const auto comm = comms_.find(id);
    if (comm == comms_.end()) continue;
    auto& members = comm->second.members;
    const auto member = members.find(place);
    if (member != members.end() && member->second.rank == rank) members.erase(member);
    if (members.empty()) comms_.erase(comm);
  }
  places_.erase(rank);
}

std::optional<SlowHost> SlowHosts::look() {
  std::optional<SlowHost> found;
  for (auto& [id, comm] : comms_) {
    const auto ready = [](const auto& member) { return member.second.looks >= kWindowLooks; };
    // A missing rank may be the one that all wait for; then the shares mean nothing.
    if (comm.members.size() != comm.world ||
        !std::all_of(comm.members.begin(), comm.members.end(), ready)) {
      continue;
    }
    const std::optional<SlowHost> slow = judge(comm);
    const int before = std::exchange(comm.suspect, slow ? slow->node : -1);
    // Twice in a row: one slow window may be chance.
    if (!found && slow && before == slow->node && !std::exchange(named_[slow->node], true)) {
      found = slow;
    }
    for (auto& [place, member] : comm.members) {
      member.looks = member.waits = 0;
      member.first = member.last;
    }
  }
  return found;
}

std::optional<SlowHost> SlowHosts::judge(Comm& comm) {
  std::map<int, std::vector<double>> shares;  // of time in collectives, by node
  for (const auto& [place, member] : comm.members) {
    if (member.last < member.first + kLeastSteps) return std::nullopt;
    shares[member.node].push_back(static_cast<double>(member.waits) /
                                  static_cast<double>(member.looks));
  }
  // Ranks of one host cannot show that the host is slow.
  if (shares.size() < 2) return std::nullopt;
  int slowest = -1;
  double least = 2;
  for (const auto& [node, of_node] : shares) {
    // One rank that is odd must not make its host look slow.
    const double share = median(of_node);
    if (share < least) std::tie(slowest, least) = std::pair(node, share);
  }
  // Without the slow host, which of two hosts would be half of the median.
  std::vector<double> others;
  for (const auto& [node, of_node] : shares) {
    if (node != slowest) others.push_back(median(of_node));
  }
  const double usual = median(others);
  // Outside of collectives a rank computes.
  const double ratio = (1 - least) / std::max(1 - usual, 0.01);
  if (usual - least < kLeastDifference || ratio < kLeastRatio) return std::nullopt;
  return SlowHost{
      slowest, fmt::format("slow: its ranks compute {:.1f} times as long per step as those of the "
                           "other hosts, which spend {:.0f} % of their time in collectives, and "
                           "this one {:.0f} %",
                           ratio, usual * 100, least * 100)};
}

}  // namespace dtl
