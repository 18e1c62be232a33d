#pragma once
// MembershipWatch: while an epoch of a job of no fixed size runs, looks for hosts that may join it
// or must leave it, and has the session end the epoch for them. On a thread of its own: to ask
// hosts takes seconds, and the session must not wait. It ends after the first change.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.h"
#include "launcher/restart/membership.h"
#include "launcher/session/session.h"

namespace dtl {

// How the world is asked, on the watch's thread, or between two epochs on the session's. Each gives
// up once the descriptor is readable; -1: it never does.
struct HostQuestions {
  // Who of them answers.
  std::function<std::vector<bool>(const std::vector<Host>&, int give_up)> probe;
  // --discover; empty: there is none. Throws Error.
  std::function<std::vector<Host>(int give_up)> discover;
  int news = -1;                 // readable: what they would answer has changed; -1: nobody knows
  std::function<void()> let_go;  // hosts that are to leave the job need not wait; may be empty
};

class MembershipWatch {
 public:
  using Clock = std::chrono::steady_clock;

  // `began`: of the job, when the clock of the membership stood at 0. Throws std::system_error for
  // want of a thread.
  MembershipWatch(Membership members, HostQuestions questions,
                  std::shared_ptr<SessionControl> control, Clock::time_point began);
  // Waits for the thread, which gives its questions up.
  ~MembershipWatch();
  MembershipWatch(const MembershipWatch&) = delete;
  MembershipWatch& operator=(const MembershipWatch&) = delete;

  // Ends it. What it knows by then, and the change for which it has ended the epoch.
  Membership stop(std::optional<HostsChange>& change);

 private:
  void run();
  bool waits(std::chrono::milliseconds time) const;  // false: it is to end
  // Asks --discover, and tells of failures.
  void list();

  Membership members_;
  const HostQuestions questions_;
  const std::shared_ptr<SessionControl> control_;
  const Clock::time_point began_;
  std::optional<HostsChange> change_;
  std::string problem_;  // of --discover, told last
  Fd end_;               // an eventfd
  std::thread thread_;
};

// "node3 answers again: the ranks are stopped, to go on with it": for the user.
std::string describe_change(const Membership& members, const HostsChange& change);

}  // namespace dtl
