#pragma once
// Acceptor: a listener and the callers that have not proved themselves yet. Wrong, short and slow
// callers are dropped without a word while accepting goes on. Anybody on the network can call, so
// nothing that a stranger does may keep ranks out, fill memory or end the meeting.
//
// A caller with many places cannot keep others out: an address gets as many as it leaves free, so
// that there is always room for callers from elsewhere. Those that never proved themselves are
// counted, by address, for the message when ranks are missing. Out of descriptors, it pauses and
// goes on. One thread.

#include <poll.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <string>
#include <vector>

#include "base/fd.h"
#include "ring/common/socket.h"
#include "ring/meeting/handshake.h"

namespace dtl::ring {

using Clock = std::chrono::steady_clock;

constexpr auto kHandshakeDeadline = std::chrono::seconds(5);  // a healthy one takes 2 round trips
constexpr std::size_t kMaxPendingCallers = 256;  // bounds what strangers can make us keep
// Where places are scarce, a caller may keep its own this long. Once it has heard the reply its
// proof may be on its way, so it gets longer. A rank that loses its place nevertheless calls again.
constexpr auto kMutePatience = std::chrono::milliseconds(250);
constexpr auto kProofPatience = std::chrono::seconds(2);
// Out of descriptors, the listener stays readable: without a pause, poll would return at once.
constexpr auto kShortagePause = std::chrono::milliseconds(100);

struct Caller {
  Channel channel;
  Hello hello;
};

// Whose place a caller takes: its address, of IPv6 the network (one host may have all of its
// addresses), "10.0.0.9", "fd00:1::/64".
std::string caller_origin(const Address& address);

class Acceptor {
 public:
  // identity must outlive the acceptor.
  Acceptor(const Identity& identity, Fd listener);

  void add_to_poll(std::vector<pollfd>& set) const;
  // Accepts, advances every handshake without blocking, and returns those that proved themselves.
  std::vector<Caller> step();
  int fd() const { return listener_.get(); }
  // When step() has something to do although nothing has arrived; Clock::time_point::max(): never.
  Clock::time_point due() const;
  // "40 callers did not prove to belong to this job: 39 from 10.0.0.9, 1 from 10.0.0.7"; or empty.
  std::string strangers() const;
  // The errno for which callers had to wait, or 0.
  int shortage() const { return shortage_; }

 private:
  struct Pending {
    ServerHandshake handshake;
    std::string origin;
    Clock::time_point since;
  };
  using Counts = std::map<std::string, std::uint64_t>;
  bool is_paused() const { return Clock::now() < paused_until_; }
  void accept_all();
  void advance(std::vector<Caller>& proved);
  bool make_room(const std::string& origin);
  bool displace_one_of(const std::string& origin);
  void count_stranger(Counts& counts, const std::string& origin) const;

  const Identity& identity_;
  Fd listener_;
  std::size_t places_;
  Clock::time_point paused_until_{};
  int shortage_ = 0;
  std::list<Pending> pending_;  // oldest first
  Counts strangers_;            // that have gone; the empty address stands for those beyond a bound
};

}  // namespace dtl::ring
