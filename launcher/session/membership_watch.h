#pragma once
// MembershipWatch: during an epoch of an elastic job, looks for hosts that may join or must leave,
// and has the session end the epoch for them. Runs on its own thread, because asking hosts takes
// seconds and must not block the session. Ends after the first change.

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

// How to ask the hosts. Called on the watch's thread, or between two epochs on the session's. Each
// call gives up when its descriptor becomes readable; -1: never.
struct HostQuestions {
  // Which of the hosts answer.
  std::function<std::vector<bool>(const std::vector<Host>&, int give_up)> probe;
  // Runs --discover; empty: there is none. Throws Error.
  std::function<std::vector<Host>(int give_up)> discover;
  int news = -1;                 // readable when the answers have changed; -1: no such descriptor
  std::function<void()> let_go;  // lets hosts that must leave the job go now; may be empty
};

class MembershipWatch {
 public:
  using Clock = std::chrono::steady_clock;

  // `began`: of the job; the membership's clock starts there. Throws std::system_error if no thread
  // can be started.
  MembershipWatch(Membership members, HostQuestions questions,
                  std::shared_ptr<SessionControl> control, Clock::time_point began);
  // Waits for the thread, whose pending questions are given up.
  ~MembershipWatch();
  MembershipWatch(const MembershipWatch&) = delete;
  MembershipWatch& operator=(const MembershipWatch&) = delete;

  // Ends the watch and returns its membership; change: for which it ended the epoch.
  Membership stop(std::optional<HostsChange>& change);

 private:
  void run();
  bool waits(std::chrono::milliseconds time) const;  // false: the watch must end
  // Runs --discover and reports failures.
  void list();

  Membership members_;
  const HostQuestions questions_;
  const std::shared_ptr<SessionControl> control_;
  const Clock::time_point began_;
  std::optional<HostsChange> change_;
  std::string problem_;  // last reported failure of --discover
  Fd end_;               // an eventfd
  std::thread thread_;
};

// A line for the user: "node3 answers again: the ranks are stopped, to go on with it".
std::string describe_change(const Membership& members, const HostsChange& change);

}  // namespace dtl
