#pragma once
// LinkBuilder: connects this rank with those of other nodes, one lane of a link at a time. Of two
// ranks the higher one connects, so that a pair never meets twice. A lower rank that waits in vain
// knocks: it calls the higher one, which then connects. Connecting and accepting go on at the same
// time, since every rank does both. Never blocks. One thread. Knows nothing of shared memory and of
// control lines.

#include <poll.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ring/meeting/acceptor.h"
#include "ring/meeting/connector.h"
#include "ring/meeting/members.h"

namespace dtl::ring {

class LinkBuilder {
 public:
  // A connection that exists now, of one stream of a lane.
  struct Made {
    int peer;
    Lane lane;
    std::uint32_t number;
    Channel channel;
  };

  // streams: of a link's bulk lane. knock_after: how long this rank waits for a higher one before
  // it knocks; zero: it never does, since all ranks connect to all. members outlives this.
  LinkBuilder(const Members& members, std::size_t streams, std::chrono::milliseconds knock_after);

  // This rank needs the lane. False if it has it already, or works on it.
  bool want(int peer, Lane lane);
  // A caller of kData or kKnock that has proved the secret.
  void admit(Caller caller);
  // What exists since the last call. Throws CommError for a reason that no other attempt can mend.
  std::vector<Made> step();
  void add_to_poll(std::vector<pollfd>& set) const;
  std::vector<Connector*> active();
  // When step() has something to do although nothing has arrived; Clock::time_point::max(): never.
  Clock::time_point due() const;

  // How many streams are wanted and not made yet.
  std::size_t missing_streams() const;
  // Since when the oldest of what is missing is; Clock::time_point::max(): nothing is.
  Clock::time_point waits_since() const;
  // What this rank has waited for longest, and what its peers did not do: "cannot be reached at
  // ...", or "did not connect to rank 3 (b)" of all that have not.
  struct Delay {
    int peer;
    Clock::time_point since;
    std::string reason;
    std::vector<int> peers;
  };
  std::optional<Delay> longest() const;
  // Peers that nobody listens for any more, each once.
  std::vector<int> take_refusals() { return std::exchange(refusals_, {}); }

 private:
  using Key = std::pair<int, Lane>;
  struct Missing {
    Clock::time_point since, knocks_at;
  };
  std::size_t streams_of(Lane lane) const { return lane == Lane::kBulk ? streams_ : 1; }
  std::size_t made_of(const Key& key) const;
  void connect(int peer, Lane lane);
  void note(int peer, Lane lane, std::uint32_t number, Channel channel);
  void knock();
  void look_at_refusal(const Connector& connector);

  const Members& members_;
  const std::size_t streams_;
  const std::chrono::milliseconds knock_after_;
  const int self_;
  std::map<Key, std::uint32_t> streams_made_;  // a bit for each stream
  std::map<Key, Missing> missing_;             // wanted, and not complete
  std::list<Connector> connectors_;            // oldest first
  std::list<Connector> knocks_;
  std::vector<Made> made_;
  std::vector<int> refusals_;
  std::set<int> refused_;
};

}  // namespace dtl::ring
