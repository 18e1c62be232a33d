#pragma once
// AgentDriver: plays the launcher for a real dtagent over a socket pair. Blocking, one thread; it
// sends heartbeats while it waits. Every wait has a deadline, after which the test fails.

#include <sys/types.h>

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/machine/process_id.h"
#include "wire/frame.h"

namespace dtl {

class AgentDriver {
 public:
  using Wait = std::chrono::milliseconds;
  static constexpr Wait kPatience{20000};  // much longer than any wait here takes

  // Starts dtagent, reads its greeting, sends Welcome, waits for Hello. folder: of another dtagent
  // than that of this build. job: its id.
  explicit AgentDriver(const std::string& folder = "", const std::string& job = "00112233aabbccdd");
  ~AgentDriver();  // kills the agent if it still runs; its guard then cleans up

  pid_t keeper() const { return pid_; }
  pid_t agent() const;  // the agent is a child of the keeper
  const NodeFacts& facts() const { return facts_; }

  void send(const Message& message);
  // Sends a Start for one rank that runs a shell script; cpus may be empty.
  void start_script(std::uint32_t rank, const std::string& script);
  // Waits for the next message of a type; keeps others (Output included).
  template <class M>
  M expect() {
    const bool came = pump([this] { return find<M>().has_value(); }, kPatience);
    if (!came) fail(std::string("no message of the wanted type"));
    return take<M>(*find<M>());
  }
  template <class M>
  bool has() const {
    return find<M>().has_value();
  }
  // Waits until a rank's output on a stream contains the text; returns all of that stream.
  std::string expect_output(std::uint32_t rank, const std::string& text,
                            Stream stream = Stream::kStdout);
  std::string output(std::uint32_t rank, Stream stream = Stream::kStdout) const;
  // Sends Finish and reads until the agent exits. Returns its exit status (128+n for a signal).
  int finish();
  int await_exit(Wait patience = kPatience);
  // Acts as a launcher that dies: closes both directions at once.
  void hang_up() { line_.reset(); }
  void set_heartbeats(bool on) { heartbeats_ = on; }
  // Reads messages until done() or the timeout; returns done().
  bool pump(const std::function<bool()>& done, Wait patience);

 private:
  template <class M>
  std::optional<std::size_t> find() const {
    for (std::size_t i = 0; i < inbox_.size(); ++i) {
      if (std::holds_alternative<M>(inbox_[i])) return i;
    }
    return std::nullopt;
  }
  template <class M>
  M take(std::size_t at) {
    M message = std::get<M>(inbox_[at]);
    inbox_.erase(inbox_.begin() + static_cast<std::ptrdiff_t>(at));
    return message;
  }
  void launch(const std::string& folder);
  void read_greeting();
  void keep(const Message& message);
  [[noreturn]] void fail(const std::string& what) const;

  pid_t pid_ = -1;
  Fd line_;
  FrameReader reader_;
  std::uint32_t sequence_ = 0;
  std::deque<Message> inbox_;
  std::map<std::pair<std::uint32_t, Stream>, std::string> outputs_;
  NodeFacts facts_;
  std::chrono::steady_clock::time_point next_heartbeat_{};
  bool heartbeats_ = true;
};

// A rank that runs /bin/sh -c script with a plain environment.
RankSpec script_rank(std::uint32_t rank, const std::string& script);

// Processes by pid, as /proc sees them.
bool is_alive(pid_t pid);  // zombies are not
// Waits until the processes are gone; returns how many are alive at the timeout.
std::size_t await_gone(const std::vector<pid_t>& pids, std::chrono::milliseconds patience);

}  // namespace dtl
