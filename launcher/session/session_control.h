#pragma once
// SessionControl: lets other threads call a session, which has one thread and no locks. It hands
// each call to the session's thread. It outlives sessions: it may be attached to one after another.

#include <functional>
#include <mutex>
#include <string>

namespace dtl {

class SessionShell;

// Any thread may call its functions; they do not wait for the session. They do nothing while no
// session runs.
class SessionControl {
 public:
  void say(std::string text);  // a line from dtlaunch
  void change_hosts();         // ends the ranks once all run; see Cause::kHostsChanged
  // This host must go while the others stay: see job::ToldToGo. False when no session runs.
  bool host_goes(std::string host, std::string told_by);

  // How the session runs a call on its thread; empty: no session.
  using Post = std::function<void(std::function<void(SessionShell&)>)>;
  // Attaches a session while it exists; detaches it however the session ends.
  class Attached {
   public:
    Attached(SessionControl* control, Post post);  // control may be nullptr
    ~Attached();
    Attached(const Attached&) = delete;
    Attached& operator=(const Attached&) = delete;

   private:
    SessionControl* const control_;
  };

 private:
  void attach(Post post);

  std::mutex mutex_;
  Post post_;
};

}  // namespace dtl
