#pragma once
// The environments of a node's ranks on their way to it. They are nearly the same, so what ranks
// have in common crosses once, as an Environment message, and each rank brings what it has beside
// that. share_environments() is the launcher's end, Environments the agent's. Pure.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "wire/messages.h"

namespace dtl {

struct RankVariables {
  const std::vector<std::string>& lines;  // "NAME=value", in the order that the rank will see
  int program = 0;                        // ranks of one program have more in common
};

struct SharedEnvironments {
  std::vector<Environment> common;  // to be sent before the ranks, in this order
  std::vector<Environment> own;     // of each rank
};

SharedEnvironments share_environments(const std::vector<RankVariables>& ranks);

// What has come of a conversation's Environment messages.
class Environments {
 public:
  // These throw Error(kVersion) on an environment that nobody may send: built on one that has not
  // come, or that is itself built on another one's; out of order; or longer than a program's may
  // be.
  void add(Environment environment);
  // The variables of a rank, in order. They point into this object and into `own`.
  std::vector<std::string_view> lines(const Environment& own) const;

 private:
  std::vector<std::string_view> checked(const Environment& environment, int most_below) const;
  std::vector<Environment> known_;
};

}  // namespace dtl
