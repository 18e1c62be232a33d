#pragma once
// The environments of a node's ranks, as sent to the node. They are nearly the same, so shared
// variables are sent once, as an Environment message, and each rank carries the rest.
// share_environments() runs in the launcher, Environments in the agent. Pure.

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
  std::vector<Environment> common;  // to send before the ranks, in this order
  std::vector<Environment> own;     // of each rank
};

SharedEnvironments share_environments(const std::vector<RankVariables>& ranks);

// The Environment messages that a conversation has received so far.
class Environments {
 public:
  // These throw Error(kVersion) on an invalid environment: its base is missing or nested too deep,
  // its variables are out of order, or it exceeds the limits of a program's environment.
  void add(Environment environment);
  // The variables of a rank, in order. They point into this object and into `own`.
  std::vector<std::string_view> lines(const Environment& own) const;

 private:
  std::vector<std::string_view> checked(const Environment& environment, int most_below) const;
  std::vector<Environment> known_;
};

}  // namespace dtl
