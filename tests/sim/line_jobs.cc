#include "tests/sim/line_jobs.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>

#include "tests/plan/invented_nodes.h"

namespace dtl::sim {
namespace {

constexpr int kJobs = 40;

void draw_wish(LineDice& dice, const std::vector<LineNode>& nodes, LineJob& job) {
  std::vector<std::size_t> all;
  for (std::size_t node = 0; node < nodes.size(); ++node) all.push_back(node);
  const auto most = static_cast<int>(nodes.size());
  const int hosts = dice.chance(50) ? 1 : dice.draw(1, most);
  int fits = INT_MAX;
  for (int i = 0; i < hosts; ++i) {
    const auto at = static_cast<std::size_t>(dice.draw(0, static_cast<int>(all.size()) - 1));
    job.hosts.push_back(all[at]);
    fits = std::min(fits, static_cast<int>(nodes[all[at]].topology.cores.size()));
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(at));
  }
  job.need = static_cast<std::size_t>(dice.chance(30) ? dice.draw(1, hosts) : hosts);
  job.cores = dice.chance(20) ? fits : dice.draw(1, fits);
  if (dice.chance(10)) {
    const int first = dice.draw(0, fits - job.cores);
    for (int cpu = first; cpu < first + job.cores; ++cpu) job.cpus.add(cpu);
  }
}

void draw_time(LineDice& dice, LineJob& job) {
  job.lasts = dice.time(500, dice.chance(20) ? 200000 : 40000);
  if (dice.chance(60)) job.limit = dice.time(2, 150) * 1000;
  if (job.limit > LineTime{0} && dice.chance(60)) job.lasts = job.limit;
  job.waits = dice.chance(80);
  if (dice.chance(10)) job.wait_limit = dice.time(2000, 60000);
  if (dice.chance(7)) job.killed = dice.time(0, 60000);
  if (dice.chance(7)) {
    job.stopped_at = dice.time(0, 60000);
    job.stopped_for = dice.time(1000, 60000);
  }
}

void draw_hostile(LineDice& dice, LineJob& job) {
  constexpr int kWishes[] = {INT_MAX, INT_MIN, 0, 4};
  job.hostile = true;
  job.cores = kWishes[dice.draw(0, 3)];
  job.killed = dice.time(5000, 120000);
  job.stopped_at = kNever;
  if (dice.chance(50)) job.arrival_ms = dice.chance(70) ? 0 : UINT64_MAX;
}

}  // namespace

std::vector<LineNode> draw_nodes(LineDice& dice) {
  constexpr int kSizes[] = {2, 4, 4, 8};
  std::vector<LineNode> nodes(static_cast<std::size_t>(dice.draw(1, 5)));
  for (LineNode& node : nodes) {
    node.topology = invented_topology(1, kSizes[dice.draw(0, 3)]);
    node.clock_ahead = dice.time(0, 8000);
  }
  return nodes;
}

std::vector<LineJob> draw_jobs(LineDice& dice, const std::vector<LineNode>& nodes) {
  const bool has_hostile = dice.chance(30);
  std::vector<LineJob> jobs(kJobs);
  std::int64_t work = 0, cores = 0;
  for (const LineNode& node : nodes) cores += static_cast<int>(node.topology.cores.size());
  for (LineJob& job : jobs) {
    job.id = fmt::format("{:08x}{:08x}", dice.draw(0, INT_MAX), dice.draw(0, INT_MAX));
    job.user = static_cast<std::uint32_t>(dice.draw(1000, 1003));
    job.clock_ahead = dice.time(0, 60000);
    draw_wish(dice, nodes, job);
    draw_time(dice, job);
    if (has_hostile && dice.chance(4)) draw_hostile(dice, job);
    job.agents.resize(job.hosts.size());
    if (!job.hostile) work += job.cores * static_cast<int>(job.need) * job.lasts.count();
  }
  // From hosts that are busy for half of the time to a line that only grows.
  const auto span = static_cast<int>(work / cores * 100 / dice.draw(50, 150));
  for (LineJob& job : jobs) {
    job.comes = dice.time(0, span);
    if (job.killed != kNever) job.killed += job.comes;
    if (job.stopped_at != kNever) job.stopped_at += job.comes;
  }
  return jobs;
}

}  // namespace dtl::sim
