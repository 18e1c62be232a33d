#pragma once
// A world for restart decisions: hosts are lost in each way, and return or not, in virtual time,
// with faults drawn from one seed. The same seed gives the same story.

#include <map>
#include <random>
#include <string>
#include <vector>

#include "launcher/restart/next_hosts.h"
#include "launcher/restart/restart.h"

namespace dtl::sim {

// The code that the world runs: the product's, unless a test plants a bug.
struct RestartRules {
  decltype(&judge_restart) judge = judge_restart;
  decltype(&deciding_epoch) deciding = deciding_epoch;
  decltype(&hosts_to_fence) to_fence = hosts_to_fence;
  decltype(&next_hosts) next = next_hosts;
};

class RestartWorld {
 public:
  RestartWorld(std::uint64_t seed, const RestartRules& rules);
  // Runs until the job has ended for good, or has broken a promise.
  void run();

  const std::string& complaints() const { return complaints_; }
  const std::string& story() const { return story_; }
  std::size_t epochs() const { return ends_.size(); }
  bool used_spare() const { return used_spare_; }
  bool waited_for_silence() const { return waited_for_silence_; }

 private:
  struct Truth {               // of a host
    JobTime ranks_end{0};      // nothing of the epochs until now runs there after it
    bool needs_fence = false;  // ranks that nobody ends but a fence
    bool reachable = true;
    bool gone = false;  // given up by the job
  };

  bool chance(int percent) { return draw(1, 100) <= percent; }
  int draw(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  JobTime some_time(JobTime most) { return JobTime(draw(0, static_cast<int>(most.count()))); }
  void begin_epoch();
  void end_epoch();
  void lose(HostAtEnd& host, Truth& truth);
  void draw_end();
  bool go_on();
  void fence();
  void check_hosts(const NextHosts& next);
  void check_end();
  void check(bool holds, const std::string& promise);

  std::mt19937_64 random_;
  RestartRules rules_;
  int most_ = 0;
  bool fixed_ = false, used_spare_ = false, waited_for_silence_ = false;
  JobTime now_{0};
  std::vector<Host> hosts_, spares_;
  std::map<std::string, Truth> truth_;
  std::vector<HostAtEnd> at_end_;
  std::vector<EpochEnd> ends_;
  std::string complaints_, story_;
};

}  // namespace dtl::sim
