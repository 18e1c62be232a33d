#pragma once
// Answers a node's hello: which place it gets, or why none. Pure, so tests need no network.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "launcher/join/join_words.h"

namespace dtl {

struct ExpectedNodes {
  std::string job;
  int restart = 0;
  // Places are by name or by rank: with names, `count` and `first_rank` are ignored.
  std::vector<std::string> names;  // each once, in any order; or else
  int count = 0;                   // the number of places by rank,
  int first_rank = 0;              // the first of these ranks
  bool by_wish = false;            // ranks are wishes; the room decides
  std::string room = {};           // as in JoinSeat; the room sets it

  std::size_t places() const {
    return names.empty() ? static_cast<std::size_t>(count) : names.size();
  }
};

// The state of one place.
struct SeatState {
  std::string name;    // of the node there, or of the last one
  int generation = 0;  // how many nodes have had the place
  bool taken = false;
};

struct SeatAnswer {
  // Counted from 0. The room's own node has none.
  std::optional<std::size_t> place;
  JoinFrame refusal;     // if no place: kRefused forever, kComeAgain for now
  bool returns = false;  // it had this place before; the old connection may still
                         // be open here: the node can notice its loss first
};

// Checks version, job and restart before places, so that a refusal names the real cause.
SeatAnswer judge_hello(const ExpectedNodes& expected, const JoinHello& hello,
                       const std::vector<SeatState>& seats);

}  // namespace dtl
