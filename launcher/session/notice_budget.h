#pragma once
// NoticeBudget: limits the notices that an agent may show, so that a faulty agent cannot fill the
// screen or memory. A token bucket: a burst of real notices passes, a stream does not. One for each
// node. Pure.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/job_time.h"

namespace dtl {

class NoticeBudget {
 public:
  static constexpr int kMost = 50;                   // bucket size: more than a host needs at once
  static constexpr JobTime kRefill{30'000};          // time for one more token
  static constexpr std::size_t kMaxBytes = 2 << 10;  // per notice: a few lines of a screen

  // The notice to show, cut if too long. If there were too many: once a line that says so, then
  // nullopt.
  std::optional<std::string> admit(std::string text, JobTime now);
  // How many notices were dropped; the user is told at the end.
  std::uint64_t left_out() const { return left_out_; }

 private:
  int room_ = kMost;
  JobTime refilled_{0};  // when room_ last grew or was full
  std::uint64_t left_out_ = 0;
};

}  // namespace dtl
