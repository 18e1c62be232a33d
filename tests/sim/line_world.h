#pragma once
// A world for the waiting line: hosts, and jobs of several users that want their cores, in virtual
// time. Messages take random times, so launchers decide by what was true a while ago; hosts' clocks
// differ; launchers are killed and stopped, hosts die and return, and some tickets are lies. All is
// drawn from one seed. The same seed gives the same story.

#include <functional>
#include <queue>
#include <string>
#include <tuple>
#include <vector>

#include "tests/sim/line_jobs.h"
#include "tests/sim/line_promises.h"

namespace dtl::sim {

// The rule that the world runs: the product's, unless a test plants a bug. The rest is what agents
// and launchers do.
struct LineRules {
  decltype(&keep_for_waiting) keep = keep_for_waiting;
  decltype(&earliest_start_here) starts = earliest_start_here;
  bool launchers_clock = false;   // says when a job came, instead of its first host's
  bool each_hosts_clock = false;  // says it for the tickets there
  bool ignores_line = false;      // jobs without --wait
  bool claims_exclude = true;     // an agent claims only what nobody has
  bool keeps_half = false;        // after a failed claim, a job keeps the cores that it got
  bool tickets_stay = false;      // after their job
  bool stopped_keep = false;      // a stopped launcher's tickets stay
  bool tells_of_releases = true;  // to those that wait there
  bool looks_again = true;        // when less time is left than a job needs
  bool tells_of_others = true;    // a job that needs all its hosts, when the last could serve it
  bool takes_back = true;         // what it told
};

class LineWorld {
 public:
  LineWorld(std::uint64_t seed, const LineRules& rules);
  // Runs until nothing happens any more, or a promise is broken.
  void run();

  std::string complaints() const { return promises_.complaints(); }
  const std::string& story() const { return story_; }
  std::size_t jobs() const { return jobs_.size(); }
  std::size_t deadlines() const { return promises_.deadlines(); }
  std::size_t ended(const std::string& why) const;
  std::size_t started_from_line() const { return started_from_line_; }
  std::size_t overtook() const { return overtook_; }
  std::size_t failed_claims() const { return failed_claims_; }

 private:
  using Step = std::function<void()>;
  struct Event {
    LineTime time;
    std::size_t number;
    Step step;
    bool operator<(const Event& other) const {
      return std::tie(time, number) > std::tie(other.time, other.number);
    }
  };

  // Time, messages, and what goes wrong.
  void after(LineTime delay, Step step);
  LineTime message_time();
  void to_agent(std::size_t job, std::size_t at, Step step);
  void to_launcher(std::size_t job, std::size_t at, Step step);
  void plan_faults();
  void kill_host(std::size_t node);
  void kill_job(std::size_t job);
  void stop_job(std::size_t job);
  void continue_job(std::size_t job);
  void tell(std::size_t job, const std::string& what);

  // A job's launcher.
  void start(std::size_t job);
  void hear_hello(std::size_t job, std::size_t at);
  void plan(std::size_t job);
  void wait(std::size_t job);
  void take_tickets(std::size_t job);
  void hear_cores(std::size_t job, std::size_t at, int generation, const CpuSet& free,
                  LineTime starts);
  void tell_of_others(std::size_t job);
  void claim(std::size_t job);
  void hear_claimed(std::size_t job, std::size_t at, bool taken);
  void go_back(std::size_t job);
  void run_job(std::size_t job);
  void finish(std::size_t job, const std::string& why);
  void state_changed(std::size_t job);

  // A job's agent on its host `at`.
  LineNode& node_of(std::size_t job, std::size_t at) { return nodes_[jobs_[job].hosts[at]]; }
  void place_ticket(std::size_t job, std::size_t at, std::uint64_t arrival_ms);
  void withdraw(std::size_t job, std::size_t at);
  void look(std::size_t job, std::size_t at, bool tell_anyway);
  void plan_look(std::size_t job, std::size_t at, LineTime delay);
  bool claim_cores(std::size_t job, std::size_t at, const CpuSet& cpus);
  void release(std::size_t job, std::size_t at);
  void leave(std::size_t job, std::size_t at);
  void node_changed(std::size_t node, bool is_release = false);
  struct View {
    CpuSet free;
    LineTime starts{0};
  };
  View view_of(std::size_t job, std::size_t at, const Ticket* own) const;
  CpuSet cpus_to_claim(const LineJob& job, const CpuSet& free) const;

  LineDice dice_;
  LineRules rules_;
  std::vector<LineNode> nodes_;
  std::vector<LineJob> jobs_;
  LineTime now_{0};
  const bool withdraws_late_;  // tickets stay until their job ends
  std::size_t events_made_ = 0, claims_made_ = 0;
  std::size_t started_from_line_ = 0, overtook_ = 0, failed_claims_ = 0;
  std::priority_queue<Event> events_;
  LinePromises promises_;
  std::string story_;
};

}  // namespace dtl::sim
