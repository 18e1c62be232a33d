#pragma once
// The hosts and jobs of a line_world.h, drawn from a seed, and what is true about them. Plain data.

#include <chrono>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "plan/line/waiting_line.h"
#include "plan/pinning/topology.h"

namespace dtl::sim {

using LineTime = std::chrono::milliseconds;

constexpr LineTime kNever = LineTime::max();

class LineDice {
 public:
  explicit LineDice(std::uint64_t seed) : random_(seed) {}
  int draw(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  bool chance(int percent) { return draw(1, 100) <= percent; }
  LineTime time(int low_ms, int high_ms) { return LineTime(draw(low_ms, high_ms)); }

 private:
  std::mt19937_64 random_;
};

struct LineClaim {
  std::size_t job = 0;
  std::size_t number = 0;  // of all claims in this world
  CpuSet cpus;
  LineTime since{0}, until{kNever};  // until: its job's --timeout, once it runs
};

struct LineTicket {
  std::size_t job = 0;
  Ticket says;  // but blocked_s
  LineTime blocked_until{0};
};

struct LineNode {
  NodeTopology topology;  // each core has one CPU
  LineTime clock_ahead{0};
  bool up = true;
  int boot = 0;
  std::vector<LineClaim> claims;
  std::vector<LineTicket> tickets;
  LineTime last_release{0};
};

enum class LineState { kNew, kStarting, kWaiting, kClaiming, kRunning, kDone };

struct LineAgent {  // of a job on one of its hosts
  bool up = false;
  int boot = 0;
  bool look_planned = false;
  std::optional<CpuSet> told;  // what is free for it there, as it said last
  std::optional<CpuSet> free;  // as the launcher knows
  LineTime starts{0},
      told_starts{0};         // when it could serve the job, as the launcher knows and it said
  LineTime blocked_until{0};  // as its ticket says
  LineTime last_to_it{0}, last_from_it{0};
};

struct LineJob {
  // What the user wants.
  std::string id;
  std::uint32_t user = 0;
  std::vector<std::size_t> hosts;
  std::size_t need = 1;  // of the hosts
  int cores = 1;         // on each
  CpuSet cpus;           // these instead; empty: any
  LineTime comes{0}, lasts{0};
  LineTime limit{0}, wait_limit{0};  // 0: none
  bool waits = true;
  bool hostile = false;  // holds a ticket and never starts
  LineTime killed{kNever}, stopped_at{kNever}, stopped_for{0};
  LineTime clock_ahead{0};  // of the launcher's host

  // What has become of it.
  LineState state = LineState::kNew;
  std::string why;  // it is done
  bool stopped = false;
  std::vector<LineAgent> agents;
  std::optional<std::uint64_t> arrival_ms;
  std::vector<std::size_t> chosen;  // of its hosts
  std::size_t pending = 0;
  std::vector<std::size_t> claimed;
  int generation = 0;  // of its tickets
};

// Its hosts may end a job later than its --timeout by this.
constexpr LineTime kLineGrace{8000};

inline std::uint64_t runs_s_of(const LineJob& job) {
  if (job.limit == LineTime{0}) return 0;
  return static_cast<std::uint64_t>((job.limit + kLineGrace).count() / 1000);
}

// Whether it counts in the line, by what is true and not by what hosts know.
inline bool is_in_line(const LineJob& job) {
  if (job.hostile) return job.state == LineState::kWaiting;
  return (job.state == LineState::kWaiting || job.state == LineState::kClaiming) && !job.stopped;
}

std::vector<LineNode> draw_nodes(LineDice& dice);
std::vector<LineJob> draw_jobs(LineDice& dice, const std::vector<LineNode>& nodes);

}  // namespace dtl::sim
