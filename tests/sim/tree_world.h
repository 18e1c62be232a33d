#pragma once
// A world of agents that form a tree, in virtual time: the relays are the product's
// (agent/tree/relay.h); dtlaunch, the network and the conversations (wire/link_end.h) are models.
// Relays are killed, stopped and slow, edges are cut, the network is partitioned, all drawn from
// one seed. The same seed gives the same story.
//
// Promises: no frame is lost, repeated or out of order; who lives and can reach dtlaunch over
// living relays is reachable again within the lease after the last fault; after one fault nobody
// else is silent for dtlaunch longer than kDead; no relay's queues exceed their bounds.

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <queue>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "agent/tree/relay.h"
#include "wire/frame.h"
#include "wire/link_end.h"

namespace dtl::sim {

// The code that the world runs: the product's, unless a test plants a bug.
struct TreeRules {
  void (*from_above)(Relay&, Parcel, RelayTime) = [](Relay& relay, Parcel parcel, RelayTime now) {
    relay.from_above(std::move(parcel), now);
  };
  void (*from_below)(Relay&, EdgeId, Parcel, RelayTime) = [](Relay& relay, EdgeId edge,
                                                             Parcel parcel, RelayTime now) {
    relay.from_below(edge, std::move(parcel), now);
  };
  void (*time_passed)(Relay&, RelayTime) = [](Relay& relay, RelayTime now) {
    relay.time_passed(now);
  };
  void (*not_connected)(Relay&, RelayTime) = [](Relay& relay, RelayTime now) {
    relay.not_connected(now);
  };
  bool (*is_up_full)(const Relay&) = [](const Relay& relay) { return relay.is_up_full(); };
};

struct TreeShape {
  std::size_t nodes = 0, width = 1;  // width: tops, and children of each
  int faults = 0;
  bool floods = false;         // nodes send much output
  RelayTime frame_every{700};  // of each conversation, in each direction; 0: none
};
TreeShape drawn_shape(std::uint64_t seed);

class TreeWorld {
 public:
  TreeWorld(std::uint64_t seed, const TreeShape& shape, const TreeRules& rules);
  // Until all faults are over and the lease after them, or a promise is broken.
  void run();

  const std::string& complaints() const { return complaints_; }
  const std::string& story() const { return story_; }
  int resumed() const { return resumed_; }  // conversations, after the first time
  std::size_t most_queued() const { return most_queued_; }
  std::uint64_t parcels_at_top() const { return parcels_at_top_; }
  std::uint64_t writes_to_launcher() const { return writes_to_launcher_; }

 private:
  // One end of a conversation.
  struct End {
    LinkEnd link;
    FrameReader reader;
    std::deque<std::string> out;  // to be sent on the branch
    bool resumed = false;
    std::uint64_t sent = 0, got = 0;  // frames
  };
  struct Item {  // in a pipe
    RelayTime at{};
    std::string bytes;
    bool ends = false;
  };
  struct Pipe {
    std::deque<Item> items;
    std::size_t bytes = 0;
    ParcelReader reader;
  };
  struct Edge {
    std::size_t child = 0, parent = 0;  // parent: kLauncher above a top
    Pipe up, down;
    bool open_below = true, open_above = true;  // as each end sees it
  };
  struct Agent {
    std::unique_ptr<Relay> relay;
    std::vector<std::size_t> parents;
    End end;  // the agent's
    std::uint32_t branch = 0;
    std::optional<EdgeId> uplink;
    std::vector<EdgeId> below;
    bool dead = false, stopped = false, slow = false, was_full = false;
    std::uint32_t call = 0;  // the number of the newest call, to
    std::size_t target = 0;
    RelayTime tick_at{RelayTime::max()}, fault_at{-12000}, cut_off_at{-12000};
    // dtlaunch's
    End far;
    std::uint32_t stream = 0, attempt = 0;
    std::size_t top = 0;
    RelayTime sign{};  // of life
  };
  enum class What { kTick, kWrite, kDeliver, kCalled, kLate, kPulse, kFrame, kFault, kRepair };
  struct Event {
    RelayTime at;
    std::uint64_t number;
    What what;
    std::size_t node;
    std::uint32_t detail;
    bool operator<(const Event& other) const {
      return at != other.at ? at > other.at : number > other.number;
    }
  };
  static constexpr std::size_t kLauncher = SIZE_MAX;

  int draw(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  std::size_t draw_node() {
    return static_cast<std::size_t>(draw(0, static_cast<int>(agents_.size()) - 1));
  }
  void later(RelayTime in, What what, std::size_t node = 0, std::uint32_t detail = 0);
  void tell(const std::string& what);
  void check(bool holds, const std::string& promise);
  void handle(const Event& event);
  bool runs(std::size_t node) const { return !agents_[node].dead && !agents_[node].stopped; }
  bool is_cut(std::size_t a, std::size_t b) const;

  void make_tree();
  void act(std::size_t node);
  void perform(std::size_t node, RelayEffect& effect);
  void write(std::size_t node);
  void put(EdgeId id, bool up, std::string bytes, bool ends = false);
  void deliver(EdgeId id, bool up);
  void take(EdgeId id, bool up, Item item);
  void called(std::size_t node, std::uint32_t call);
  void hang_up(EdgeId id, bool above);

  void end_branch(End& end);
  void talk(std::size_t node);
  void say_receipt(End& end, bool always);
  void lose_top(std::size_t top);
  void from_top(std::size_t top, Parcel parcel);
  void feed_far(std::size_t node, const std::string& bytes);
  void feed_near(std::size_t node, const std::string& bytes);
  void read_frames(End& end, const std::string& who);
  void say(End& end, std::size_t bytes);
  void flush_near(std::size_t node);
  void flush_far(std::size_t node);
  void pulse();
  void check_all();
  void check_end();
  void fault();
  void repair(std::size_t node, std::uint32_t kind);
  bool reaches(std::size_t node) const;

  std::mt19937_64 random_;
  TreeShape shape_;
  TreeRules rules_;
  RelayTime now_{0}, ends_at_{0};
  std::deque<RelayTime> faults_;
  int faults_left_;
  std::vector<Agent> agents_;
  std::deque<Edge> edges_;                              // by id
  std::set<std::pair<std::size_t, std::size_t>> cuts_;  // smaller number first
  std::priority_queue<Event> events_;
  std::uint64_t numbered_ = 0, parcels_at_top_ = 0, writes_to_launcher_ = 0;
  int resumed_ = 0;
  std::size_t most_queued_ = 0;
  std::string complaints_, story_;
};

}  // namespace dtl::sim
