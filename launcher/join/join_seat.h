#pragma once
// Who may sit where: the answer to a node's hello. Pure, so that the rules can be tested without a
// network.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "launcher/join/join_words.h"

namespace dtl {

struct ExpectedNodes {
  std::string job;
  int restart = 0;
  // Either by name or by rank: with names, `count` and `first_rank` do not matter.
  std::vector<std::string> names;  // by name, each once, in any order; or else
  int count = 0;                   // so many by rank,
  int first_rank = 0;              // from this one on
  bool by_wish = false;            // where a rank is a wish, and the room has the last word
  std::string room = {};           // as JoinSeat has it; the room's own to fill in

  std::size_t places() const {
    return names.empty() ? static_cast<std::size_t>(count) : names.size();
  }
};

// What is known of each place.
struct SeatState {
  std::string name;    // of who sits there, or sat there last
  int generation = 0;  // how many have sat there by now
  bool taken = false;
};

struct SeatAnswer {
  // Counted from 0. The room's own node has none.
  std::optional<std::size_t> place;
  JoinFrame refusal;     // without a place: kRefused for good, kComeAgain for now
  bool returns = false;  // it sat there before; the place may still be taken: the node can
                         // be first to know that its connection is lost
};

// Checks version, job and start before places, so that the refusal names the real cause.
SeatAnswer judge_hello(const ExpectedNodes& expected, const JoinHello& hello,
                       const std::vector<SeatState>& seats);

}  // namespace dtl
