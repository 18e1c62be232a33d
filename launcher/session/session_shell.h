#pragma once
// SessionShell: the object behind run_session(). It feeds events to the state machine, and its
// parts perform the effects: Conversations talk with agents, SessionPlanning makes the plan,
// OutputCredit and InputToRanks handle the ranks' streams. launcher/job alone decides what follows
// from an event. Only session.cc and session_control.cc include this file.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "launcher/screen/console.h"
#include "launcher/session/conversations.h"
#include "launcher/session/input_to_ranks.h"
#include "launcher/session/output_credit.h"
#include "launcher/session/session.h"
#include "launcher/session/session_node.h"
#include "launcher/session/session_planning.h"
#include "wire/asio.h"
#include "wire/task_group.h"

namespace dtl {

class SessionShell {
 public:
  SessionShell(const Request& request, const SessionOptions& options,
               std::shared_ptr<Unwritten> unwritten);
  SessionResult run();

  // Called by SessionControl on this session's thread.
  void say(const std::string& text) { console_.say(text); }
  // An effect may call it while an event is handled; the new event is then queued.
  void feed(job::Event event);
  void host_goes(const std::string& host, const std::string& told_by);

 private:
  awaitable<void> stop_self();
  awaitable<void> watch_time();
  awaitable<void> watch_signals();

  // Moves Output's bytes out of the message; the state machine does not need them.
  LastWords hear(int node, Message& message);
  void state_changed(JobState before);
  void perform(job::Effect& effect);
  template <typename Do>
  void unless_refused(Do act);
  void say_about(int index, const std::string& text);
  JobTime now() const;
  SessionResult result();

  const Request& request_;
  const SessionOptions& options_;
  const std::shared_ptr<Unwritten> unwritten_;
  std::chrono::steady_clock::time_point began_;
  Job job_;
  std::deque<job::Event> events_;  // waiting for the machine; see feed()
  bool stepping_ = false;
  std::size_t started_ = 0;  // ranks
  std::vector<PhaseTime> phases_;

  // Destroyed in reverse order: tasks, streams and the console, whose writers post to the
  // io_context, go before it.
  asio::io_context context_;  // before everything that uses it
  SessionNodes nodes_;
  TaskGroup tasks_;
  asio::steady_timer timer_;
  asio::signal_set signals_;
  Console console_;
  OutputCredit credit_;
  InputToRanks input_;
  SessionPlanning planning_;
  Conversations conversations_;
};

}  // namespace dtl
