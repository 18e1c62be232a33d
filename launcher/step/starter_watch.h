#pragma once
// StarterWatch: watches the processes that bring a dtlaunch to the nodes of a step, one for all of
// them or one for each: what they say and how they end. It tells the user whom a step waits for. It
// has a thread of its own; all functions may be called from any thread.

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "launcher/streams/child.h"
#include "launcher/streams/stderr_tail.h"

namespace dtl {

class StarterWatch {
 public:
  // Whose place is absent where one has started all.
  using Ended = std::function<void(const std::string& how, std::optional<std::size_t> place)>;

  // ended: on the thread, when one has ended, with how. missing: which nodes have not come yet, as
  // a line about a wait names them; empty: all are there.
  StarterWatch(std::string program, std::vector<Child> starters, Ended ended,
               std::function<std::string()> missing);
  ~StarterWatch();  // does not end them
  StarterWatch(const StarterWatch&) = delete;
  StarterWatch& operator=(const StarterWatch&) = delete;

  // How what has started the node of that place ended: "srun ended: exit status 1"; empty while it
  // runs.
  std::string ending(std::size_t place) const;
  std::string words(std::size_t place) const;             // the last that it has said
  bool wait_for_end(std::chrono::milliseconds patience);  // of all; false: some still run
  void signal(int number);                                // to all

 private:
  struct Starter {
    Child child;
    bool talks = true, prints = true;  // on standard error, on standard output
    std::string line;                  // that has not ended yet
    StderrTail tail;
    std::string ending;
  };

  // The lock is held by the caller.
  const Starter& of_place(std::size_t place) const;
  void watch();
  void poll_once(int timeout_ms);
  bool read_words(Starter& starter, int fd);
  void note_end(std::size_t at);
  std::string last_said() const;

  const std::string program_;
  std::vector<Starter> starters_;
  const Ended ended_;
  const std::function<std::string()> missing_;
  Fd stop_;                   // an eventfd
  bool stopping_ = false;     // the thread's own
  mutable std::mutex mutex_;  // of `tail`, `ending` and the end of each, and of
  std::size_t running_;
  std::condition_variable gone_;
  std::thread thread_;
};

}  // namespace dtl
