#pragma once
// Acceptor: a listener and the callers that have not proved themselves yet. Wrong, short and slow
// callers are dropped without a word while accepting goes on. One thread.

#include <poll.h>

#include <chrono>
#include <cstddef>
#include <list>
#include <vector>

#include "ring/meeting/handshake.h"

namespace dtl::ring {

using Clock = std::chrono::steady_clock;

constexpr auto kHandshakeDeadline = std::chrono::seconds(5);  // a healthy one takes 2 round trips
constexpr std::size_t kMaxPendingCallers = 64;  // bounds what strangers can make us keep
// With so many, further ones wait in the listener's queue until the oldest had this long: ranks of
// a large job that all come at once are not thrown out by each other.
constexpr auto kPatienceWhenFull = std::chrono::milliseconds(250);

struct Caller {
  Fd fd;
  Hello hello;
};

class Acceptor {
 public:
  // identity must outlive the acceptor.
  Acceptor(const Identity& identity, Fd listener)
      : identity_(identity), listener_(std::move(listener)) {}

  void add_to_poll(std::vector<pollfd>& set) const;
  // Accepts, advances every handshake without blocking, and returns those that proved themselves.
  std::vector<Caller> step();
  int fd() const { return listener_.get(); }
  void close();

 private:
  struct Pending {
    ServerHandshake handshake;
    Clock::time_point since;
  };
  void accept_all();
  void advance(std::vector<Caller>& proved);
  bool make_room();

  const Identity& identity_;
  Fd listener_;
  std::list<Pending> pending_;  // oldest first
};

}  // namespace dtl::ring
