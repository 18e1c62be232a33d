#include "launcher/session/elastic_hosts.h"

#include <algorithm>

#include "base/limits.h"

namespace dtl {

ElasticHosts::ElasticHosts(const ElasticOptions& options, const std::vector<Host>& hosts,
                           const std::vector<Host>& spares, Clock::time_point began)
    : questions_(options.questions), began_(began) {
  members_.range = options.range;
  members_.of_ranks = options.of_ranks;
  members_.hosts = hosts;
  members_.spares = spares;
}

std::shared_ptr<SessionControl> ElasticHosts::control() {
  control_ = std::make_shared<SessionControl>();
  return control_;
}

void ElasticHosts::started(std::size_t ranks) {
  begin_epoch(members_, static_cast<int>(ranks), now());
  if (members_.hosts.empty()) return;
  watch_.emplace(members_, questions_, control_, began_);
}

void ElasticHosts::ended() {
  change_.reset();
  if (!watch_) return;
  members_ = watch_->stop(change_);
  watch_.reset();
}

std::string ElasticHosts::go_on(
    const SessionResult& result, const std::vector<std::string>& lost,
    const std::function<std::vector<bool>(const std::vector<Host>&)>& is_clean) {
  const bool stopped_for_it = result.job.outcome->cause == Cause::kHostsChanged;
  lose_hosts(members_, result.hosts, lost, now());
  for (std::size_t i = 0; i < result.hosts.size(); ++i) {
    const NodeState& node = result.job.nodes[i];
    if (!node.told_to_go) continue;
    const JobTime left = node.goes ? *node.goes - result.ended : JobTime(kDeparture);
    note_departure(members_, result.hosts[i].name, now() + left + JobTime(kDepartureMargin));
  }
  HostsChange change;
  if (stopped_for_it && change_) change = *change_;
  if (!stopped_for_it) change = change_of_hosts(members_, now()).value_or(HostsChange{});
  drop_unclean(change, is_clean);
  apply_change(members_, change, now());
  return too_few_hosts(members_);
}

// Who answered a moment ago may have gone again, or still have what it ran when it was lost.
void ElasticHosts::drop_unclean(
    HostsChange& change,
    const std::function<std::vector<bool>(const std::vector<Host>&)>& is_clean) {
  std::vector<Host> joining;
  for (const Host& host : members_.away) {
    const auto& names = change.joining;
    if (std::find(names.begin(), names.end(), host.name) != names.end()) joining.push_back(host);
  }
  if (joining.empty()) return;
  const std::vector<bool> clean = is_clean(joining);
  std::vector<std::string> unclean;
  change.joining.clear();
  for (std::size_t i = 0; i < joining.size(); ++i) {
    (clean[i] ? change.joining : unclean).push_back(joining[i].name);
  }
  lose_hosts(members_, joining, unclean, now());
}

}  // namespace dtl
