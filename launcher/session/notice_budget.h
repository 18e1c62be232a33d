#pragma once
// NoticeBudget: how much an agent may have shown by itself, so that one gone bad fills neither the
// screen nor memory. A bucket that refills with time: a burst of true notices passes, a stream does
// not. One for each node. Pure.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/job_time.h"

namespace dtl {

class NoticeBudget {
 public:
  static constexpr int kMost = 50;                   // at once: more than a host has to say
  static constexpr JobTime kRefill{30'000};          // after which there is room for one more
  static constexpr std::size_t kMaxBytes = 2 << 10;  // of one notice: a few lines of a screen

  // What is to be shown of a notice, cut where it is too long; nullopt when there were too many.
  std::optional<std::string> admit(std::string text, JobTime now);
  // How many were not shown; the user is told at the end.
  std::uint64_t left_out() const { return left_out_; }

 private:
  int room_ = kMost;
  JobTime refilled_{0};  // when room_ last grew, or was full
  std::uint64_t left_out_ = 0;
};

}  // namespace dtl
