#pragma once
// LateHosts: hosts that may arrive later than their launcher, such as the pods of an MPIJob. Until
// then names do not resolve, or nobody listens. The launcher retries such hosts and prints one line
// every 10 s that names them all. A host that fails in another way ends the wait for all. All
// starts of a job share one LateHosts; one thread.

#include <chrono>
#include <functional>
#include <map>
#include <string>

#include "base/error.h"

namespace dtl {

class LateHosts {
 public:
  using Clock = std::chrono::steady_clock;
  struct Options {
    // For each host, from its first try.
    std::chrono::milliseconds patience{};
    // For a host that did not arrive. hint: what to try. remark: what else is known, such as "it is
    // not listed"; may be empty.
    std::function<std::string(const std::string&host)> hint, remark;
  };
  explicit LateHosts(Options options) : options_(std::move(options)) {}

  // One host, from its first try until it is there or given up.
  class Wait {
   public:
    Wait(LateHosts& all, std::string host);
    ~Wait();
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;
    // How long to wait before the next try. Throws if there will be none: `failure`, with a remark
    // and a hint added.
    std::chrono::milliseconds after(const Error& failure);

   private:
    LateHosts& all_;
    std::string host_;
    Clock::time_point began_;
    int tries_ = 0;
  };

 private:
  void say_who_is_late(Clock::time_point now);

  Options options_;
  Clock::time_point began_, next_line_;  // of the hosts that are waited for now
  // How many Waits exist. The first one of an epoch resets the clock and given_up_.
  int tried_ = 0;
  bool given_up_ = false;
  std::map<std::string, std::string> late_;  // and the last failure of each
};

}  // namespace dtl
