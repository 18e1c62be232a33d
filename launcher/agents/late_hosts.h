#pragma once
// LateHosts: hosts that may come later than their launcher, as the pods of an MPIJob do. Names do
// not resolve yet, or nobody listens yet. Such hosts are tried again, and one line every 10 s names
// all of them. A host that fails in another way ends the wait for all. Shared by the starts of all
// hosts of a job; one thread.

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
    // Of a host that has not come. hint: what to try. remark: what else is known, such as "it is
    // not listed"; may be empty.
    std::function<std::string(const std::string&host)> hint, remark;
  };
  explicit LateHosts(Options options) : options_(std::move(options)) {}

  // One host, from its first try until it is there or given up. Exists while the host is being
  // tried.
  class Wait {
   public:
    Wait(LateHosts& all, std::string host);
    ~Wait();
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;
    // The time until the next try. Throws when there will be none: `failure`, with what is known
    // added.
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
  Clock::time_point began_, next_line_;  // of those that are tried now
  // How many Waits exist. The first one of an epoch resets the clock and given_up_.
  int tried_ = 0;
  bool given_up_ = false;
  std::map<std::string, std::string> late_;  // with why
};

}  // namespace dtl
