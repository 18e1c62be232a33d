#pragma once
// A world for the job's state machine: nodes, agents and ranks are entries in one queue of future
// events, in virtual time, with faults drawn from one seed. The same seed gives the same story.

#include <functional>
#include <map>
#include <queue>
#include <random>
#include <string>
#include <vector>

#include "launcher/job/job.h"

namespace dtl::sim {

// How often each fault happens, in percent; a seed enables some of them (swarm testing).
struct Faults {
  int start_fails = 0;   // an agent does not come up
  int agent_dies = 0;    // after it was up
  int falls_silent = 0;  // the network swallows everything, both ways
  int rank_fails = 0;    // exits with a status or a signal
  int words_vary = 0;    // a rank that fails says nothing, or that another one has
  int spawn_fails = 0;
  int ignores_stop = 0;  // never reports its ranks' end
  int ignores_finish = 0;
  int user_signals = 0;  // the user interrupts, perhaps several times
  int talks_nonsense = 0;
  int has_timeout = 0;
  int no_network = 0;  // a round of probes proves none
};

class World {
 public:
  explicit World(std::uint64_t seed);
  // Runs until the job is done; false if it exceeds the longest allowed time.
  bool run();

  const Job& job() const { return job_; }
  // Promises that were broken, one per line.
  const std::string& complaints() const { return complaints_; }
  std::string story() const { return story_; }

 private:
  struct Entry {
    JobTime when;
    std::uint64_t order;
    std::function<void()> what;
    bool operator>(const Entry& other) const {
      return when != other.when ? when > other.when : order > other.order;
    }
  };
  struct Node {
    bool up = false, silent = false, stopping = false;
    bool ignores_stop = false, ignores_finish = false;
    JobTime last_arrival{0};  // messages keep their order
    std::vector<int> ranks;
  };

  bool chance(int percent) { return draw(1, 100) <= percent; }
  int draw(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  void at(JobTime when, std::function<void()> what) {
    queue_.push({when, order_++, std::move(what)});
  }
  void draw_faults();
  void bring_up(int node);
  void feed(const job::Event& event, const std::string& story);
  void perform(const job::Effect& effect);
  void place();
  void start_ranks();
  void end_rank(int node, int rank, int code, int signal);
  void from_agent(int node, Message message, LastWords words = LastWords::kOwn);
  void note_failure(const job::Event& event);
  void hear(int node, const Message& message);
  void check(bool holds, const std::string& promise);
  void check_promises_at_end();

  std::mt19937_64 random_;
  Faults faults_;
  Job job_;
  JobTime now_{0};
  std::uint64_t order_ = 0;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
  std::vector<Node> nodes_;
  std::map<int, bool> rank_ended_;
  bool started_ = false, stop_sent_ = false;
  bool cause_seen_ = false;  // a rank failed by itself while ranks ran
  std::string complaints_, story_;
};

}  // namespace dtl::sim
