#pragma once
// Who may sit where: the answer to a node's hello. Pure.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "launcher/join/join_words.h"

namespace dtl {

struct ExpectedNodes {
  std::string job;
  int restart = 0;
  std::vector<std::string> names;  // by name, each once, in any order; or else
  int count = 0;                   // so many by rank,
  int first_rank = 0;              // from this one on

  std::size_t places() const {
    return names.empty() ? static_cast<std::size_t>(count) : names.size();
  }
};

struct SeatAnswer {
  std::optional<std::size_t> place;
  JoinFrame refusal;  // without a place: kRefused for good, kComeAgain for now
};

SeatAnswer judge_hello(const ExpectedNodes& expected, const JoinHello& hello);

}  // namespace dtl
