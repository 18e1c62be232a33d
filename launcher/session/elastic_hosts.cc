// During an epoch the watch's thread owns the membership; MembershipWatch::stop() returns it.
#include "launcher/session/elastic_hosts.h"

#include <algorithm>
#include <utility>

#include "base/limits.h"

namespace dtl {

ElasticHosts::ElasticHosts(const ElasticOptions& options, const std::vector<Host>& hosts,
                           const std::vector<Host>& spares, Clock::time_point began)
    : questions_(options.questions), patience_(options.patience), began_(began) {
  members_.range = options.range;
  members_.of_ranks = options.of_ranks;
  members_.of_nodes = options.of_nodes;
  members_.hosts = hosts;
  members_.spares = spares;
  // The scheduler replaces lost nodes and the job has no range: keep the number of hosts.
  if (options.range.most > 0) return;
  const auto all = static_cast<int>(hosts.size());
  members_.range = {all, all};
}

std::shared_ptr<SessionControl> ElasticHosts::control() {
  control_ = std::make_shared<SessionControl>();
  return control_;
}

void ElasticHosts::started(std::size_t ranks) {
  begin_epoch(members_, static_cast<int>(ranks), now());
  // On this machine alone there are no hosts to watch.
  if (members_.hosts.empty()) return;
  watch_.emplace(members_, questions_, control_, began_);
}

void ElasticHosts::ended() {
  change_.reset();
  if (!watch_) return;
  members_ = watch_->stop(change_);
  watch_.reset();
}

std::string ElasticHosts::go_on(const SessionResult& result, const std::vector<std::string>& lost,
                                const AreClean& are_clean) {
  const bool stopped_for_it = result.job.outcome->cause == Cause::kHostsChanged;
  for (std::size_t i = 0; i < result.hosts.size(); ++i) {
    const NodeState& node = result.job.nodes[i];
    if (!node.told_to_go) continue;
    // The clocks of session and job begin at different times; only the time left carries over.
    const JobTime left = node.goes ? *node.goes - result.ended : JobTime(kDeparture);
    note_departure(members_, result.hosts[i].name, now() + left + JobTime(kDepartureMargin));
  }
  std::optional<HostsChange> ended_for;
  // Nodes are asked again: they report at once who has arrived and who must end.
  if (stopped_for_it && !members_.of_nodes) ended_for = change_.value_or(HostsChange{});
  RegroupSteps steps;
  // regroup() passes its own members, which are members_.
  steps.change = [this](const Membership&, JobTime time) {
    if (members_.of_nodes) look_again();
    return change_of_hosts(members_, time);
  };
  regroup(members_, result.hosts, lost, std::move(ended_for), are_clean, now(), steps);
  sort();
  if (questions_.let_go) questions_.let_go();
  return too_few_hosts(members_);
}

// Nodes report at once who has arrived and who must end.
void ElasticHosts::look_again() {
  listed_ = questions_.discover(-1);
  list_hosts(members_, listed_, now());
  note_answers(members_, members_.away, questions_.probe(members_.away, -1));
}

// Sorts nodes by place, so a node keeps its number unless one before it is missing.
void ElasticHosts::sort() {
  const auto place = [this](const Host& host) {
    return std::find_if(listed_.begin(), listed_.end(),
                        [&](const Host& listed) { return listed.name == host.name; });
  };
  if (!members_.of_nodes) return;
  std::stable_sort(members_.hosts.begin(), members_.hosts.end(),
                   [&](const Host& one, const Host& other) { return place(one) < place(other); });
}

std::string ElasticHosts::wait_for_more(const HeldSignals& held, Clock::time_point end,
                                        const AreClean& are_clean, std::optional<int>& signal) {
  // Nodes arrive at any time, and a signal must end the wait at once.
  constexpr auto kLook = 100ms;
  for (;;) {
    look_again();
    std::vector<Host> there;
    for (const Host& host : members_.away) {
      const auto& names = members_.answering;
      const bool answers = std::find(names.begin(), names.end(), host.name) != names.end();
      if (answers && !is_departing(members_, host.name, now())) there.push_back(host);
    }
    const std::vector<bool> clean = are_clean(there);
    const auto most = static_cast<std::size_t>(members_.range.most);
    std::vector<std::string> joining;
    for (std::size_t i = 0; i < there.size(); ++i) {
      // Placement decides how many ranks fit.
      const bool room = members_.of_ranks || members_.hosts.size() + joining.size() < most;
      if (clean[i] && room) joining.push_back(there[i].name);
    }
    // Joins them at once, without the delay for hosts that join a running epoch, which has ranks to
    // stop.
    take_back(members_, joining, now());
    sort();
    std::string why = too_few_hosts(members_);
    if (why.empty() || Clock::now() >= end) return why;
    signal = held.wait_until(std::min(end, Clock::now() + kLook));
    if (signal) return why;
    if (questions_.let_go) questions_.let_go();
  }
}

}  // namespace dtl
