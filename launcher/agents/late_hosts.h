#pragma once
// LateHosts: hosts that may come later than the job which wants them, as the pods of an MPIJob do:
// names do not resolve yet, nobody listens yet. They are tried again, with a line about all of them
// every 10 s; one that has failed in another way ends the wait for all. Shared by the starts of all
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
    std::chrono::milliseconds patience{};
    // Of a host that has not come: what to try, and what else is known ("", or "it is not listed").
    std::function<std::string(const std::string&host)> hint, remark;
  };
  explicit LateHosts(Options options) : options_(std::move(options)) {}

  // One host, from its first try on.
  class Wait {
   public:
    Wait(LateHosts& all, std::string host);
    ~Wait();
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;
    // The time until the next try. Throws `failure` when there will be none, with what is known.
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
  int tried_ = 0;
  bool given_up_ = false;
  std::map<std::string, std::string> late_;  // with why
};

}  // namespace dtl
