#pragma once
// A world for jobs that change size: hosts fail and return, are listed and unlisted, in virtual
// time, drawn from one seed. First there are faults, then all hosts stay up. The same seed gives
// the same story.

#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "launcher/restart/membership.h"

namespace dtl::sim {

// The code that the world runs: the product's, unless a test plants a bug.
struct ElasticRules {
  std::function<decltype(list_hosts)> list = list_hosts;
  std::function<decltype(hosts_to_ask)> to_ask = hosts_to_ask;
  std::function<decltype(note_answers)> note = note_answers;
  std::function<decltype(change_of_hosts)> change = change_of_hosts;
  std::function<decltype(lose_hosts)> lose = lose_hosts;
  std::function<decltype(apply_change)> apply = apply_change;
  std::function<decltype(too_few_hosts)> too_few = too_few_hosts;
};

class ElasticWorld {
 public:
  ElasticWorld(std::uint64_t seed, ElasticRules rules);
  // Runs until the end of time, until too few hosts are left, or until a promise is broken.
  void run();

  const std::string& complaints() const { return complaints_; }
  const std::string& story() const { return story_; }
  bool grew() const { return grew_; }
  bool shrank() const { return shrank_; }
  bool ended() const { return ended_; }

 private:
  struct Truth {  // of a host
    bool up = true;
    bool listed = true;
    int losses = 0;    // as often as the job lost it
    JobTime since{0};  // its last loss, or its return
  };

  bool chance(int permille) { return draw(1, 1000) <= permille; }
  int draw(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  int least() const;
  int ranks() const;
  std::vector<Host> listed() const;
  std::vector<std::string> lost() const;
  void happen();
  void look();
  void ask();
  void go_on(const std::vector<std::string>& lost, std::optional<HostsChange> change);
  void lose(const std::vector<Host>& before, const std::vector<std::string>& names);
  void begin_epoch();
  void check_asked(const std::vector<Host>& asked);
  void check_change(const HostsChange& change);
  void check_hosts();
  bool is_whole() const;
  void check(bool holds, const std::string& promise);

  std::mt19937_64 random_;
  ElasticRules rules_;
  Membership members_;
  std::map<std::string, Truth> truth_;
  std::vector<JobTime> growths_;  // when
  JobTime now_{0}, began_{0};     // and this epoch
  int faults_ = 0;                // per thousand, host and look
  bool discovers_ = false, healed_ = false, ended_ = false, grew_ = false, shrank_ = false;
  std::string complaints_, story_;
};

}  // namespace dtl::sim
