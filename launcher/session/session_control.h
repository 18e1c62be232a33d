#pragma once
// SessionControl: what other threads may want of a session, which itself has one thread and no
// locks: a call is handed over and performed there. It outlives sessions: one epoch after the other
// is attached to it.

#include <functional>
#include <mutex>
#include <string>

namespace dtl {

class SessionShell;

// Its functions may be called from any thread and do not wait for the session. Before a session's
// begin and after its end nothing happens.
class SessionControl {
 public:
  void say(std::string text);  // a line of dtlaunch's
  void change_hosts();         // once all ranks run: ends them, see Cause::kHostsChanged
  // That host has to go, while the others stay: see job::ToldToGo. False when no session runs.
  bool host_goes(std::string host, std::string told_by);

  // The session's own: how it hands a call to its thread; empty: it is over.
  using Post = std::function<void(std::function<void(SessionShell&)>)>;
  // While it exists; however a session ends, nobody reaches it afterwards.
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
