#pragma once
// Relay: what an agent does in a tree of agents (wire/PROTOCOL.md): which edge leads to which node,
// what to pass on, when an edge is dead, which parent to call next, and its own branch. Pure:
// events and the time go in; effects, and bytes for each edge, come out. No clock and no socket in
// here: tree_seat.cc is the shell around it.
//
// A branch lives as long as each edge on its way does. If an agent's uplink ends, it says `left`
// for each branch that goes over it: upward the agent above does, downward this one. Whoever hears
// that its own branch has ended begins the next one. Until there is an uplink, branches that have
// begun wait here; then they are announced.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "agent/tree/parcel_queue.h"
#include "wire/tree/parcel.h"

namespace dtl {

using RelayTime = std::chrono::milliseconds;  // of a clock that never goes back
using EdgeId = std::uint32_t;                 // to a child; each is used once

// ---- Effects, performed in order before the next event.
struct CallParent {  // then connected() or not_connected()
  std::size_t parent = 0;
};
struct DropUplink {};  // it is over: no uplink_ended() after it
struct DropEdge {      // the same for edge_ended()
  EdgeId edge = 0;
};
struct BranchBegins {  // of this node: the newest one
  std::uint32_t stream = 0;
};
struct BranchBytes {  // have come on it
  std::string bytes;
};
struct BranchEnds {};
struct HeardPulse {};
struct PieceComes {  // of a SharedFrame
  std::string bytes;
};
using RelayEffect = std::variant<CallParent, DropUplink, DropEdge, BranchBegins, BranchBytes,
                                 BranchEnds, HeardPulse, PieceComes>;

class Relay {
 public:
  // Without a pulse for this long an agent calls its next parent. Each parent more between it and
  // dtlaunch adds a moment, so that an agent below a stopped one moves with all who are below it.
  static constexpr RelayTime kPulsePatience{4000}, kPatiencePerParent{500};
  static constexpr std::size_t kMostWaits = 5;    // of these moments: patience < the lease
  static constexpr RelayTime kEdgeSilence{9000};  // then a child is taken for dead
  static constexpr RelayTime kAlivePeriod{1000};
  static constexpr RelayTime kPause{500};  // after all parents were called, and between branches
  // Upward, bytes that come this soon after a write wait for others, unless many wait.
  static constexpr RelayTime kGather{10};
  static constexpr std::size_t kGatherBytes = 16 << 10;
  // A child that does not take its bytes is given up; the children of one whose parent does not
  // take them are not read.
  static constexpr std::size_t kMostDown = 16 << 20, kMostUp = 1 << 20;
  static constexpr std::uint32_t kMostNodes = 65536;

  // node: this one's number. parents: how many it may call; 0: its uplink is dtlaunch itself, which
  // is always there.
  Relay(std::uint32_t node, std::size_t parents, RelayTime now);

  // ---- Events. Those that bring parcels throw Error(kVersion) if such a parcel must not come.
  void connected(RelayTime now);      // the parent that was called last
  void not_connected(RelayTime now);  // the same
  void uplink_ended(RelayTime now);
  void from_above(Parcel parcel, RelayTime now);
  // The child has proved its number. An older edge of the same child is dropped.
  void edge_begins(EdgeId edge, std::uint32_t child, RelayTime now);
  void edge_ended(EdgeId edge);
  void from_below(EdgeId edge, Parcel parcel, RelayTime now);
  void branch_closed(std::uint32_t stream, RelayTime now);  // here: nobody needs it any more
  void time_passed(RelayTime now);                          // due() has come
  RelayTime due() const;
  std::vector<RelayEffect> take_effects();

  // ---- Bytes. send() does nothing unless owns(stream). At most kMaxParcelBytes.
  void send(std::uint32_t stream, std::string bytes);
  bool owns(std::uint32_t stream) const { return branch_open_ && stream == branch_; }
  bool is_up_full() const { return up_.bytes() >= kMostUp; }
  bool has_up() const { return !up_.is_empty(); }
  RelayTime up_due() const;            // when take_up() gives something; max(): not before an event
  std::string take_up(RelayTime now);  // whole parcels; empty: none, or they wait
  bool has_down(EdgeId edge) const;
  std::string take_down(EdgeId edge);
  std::size_t queued_bytes() const;  // of all queues
  bool is_connected() const { return uplink_ == Uplink::kConnected; }

 private:
  static constexpr RelayTime kNever = RelayTime::max();
  enum class Uplink { kPausing, kCalling, kConnected };
  struct Edge {
    std::uint32_t child = 0;
    RelayTime heard{};
    ParcelQueue queue;
  };
  struct Route {  // to a node's newest branch
    EdgeId edge = 0;
    std::uint32_t stream = 0;
    bool open = false;
  };
  using Edges = std::map<EdgeId, Edge>;

  void call(std::size_t parent);
  void pause(RelayTime now);
  void lose_uplink(std::size_t next_parent, RelayTime now);
  void end_branches_above();
  void begin_branch(RelayTime now);
  void end_branch();
  void pass_down(const Parcel& parcel, const Route& route);
  void pass_down_to_all(const Parcel& parcel);
  void drop(Edges::iterator edge);
  void close_routes(EdgeId edge);
  void up(const Parcel& parcel, bool hurried);
  Route* open_route(std::uint32_t node, std::uint32_t stream);
  void say_alive(RelayTime now);
  void sort_alive();
  RelayTime patience() const;

  const std::uint32_t node_;
  const std::size_t parents_;
  Uplink uplink_ = Uplink::kPausing;
  std::size_t parent_ = 0;  // the one that is called, or was last
  std::size_t failed_ = 0;  // calls since the last uplink
  RelayTime call_at_{kNever}, connected_at_{}, pulse_at_{};
  RelayTime heard_pulse_{kNever};  // kNever: none
  std::uint32_t branch_ = 0;
  bool branch_open_ = false;
  RelayTime branch_began_{}, branch_at_{kNever};
  Edges edges_;
  std::unordered_map<std::uint32_t, Route> routes_;
  std::vector<std::uint32_t> alive_;  // heard of since the last `alive`; unsorted
  RelayTime alive_at_;
  ParcelQueue up_;
  bool is_hurried_ = false;
  RelayTime written_{kNever};
  std::vector<RelayEffect> effects_;
};

}  // namespace dtl
