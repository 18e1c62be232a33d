#pragma once
// StarterWatch: watches a step's starters, the processes that run a dtlaunch on its nodes: one for
// all nodes or one for each. Collects their output and how they end, and tells the user which nodes
// a step waits for. Has its own thread; any thread may call the functions.

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
  // place: absent if one starter serves all nodes.
  using Ended = std::function<void(const std::string& how, std::optional<std::size_t> place)>;

  // ended: called on the thread when a starter has ended. missing: names the nodes that have not
  // arrived, for a line about the wait; empty: all have.
  StarterWatch(std::string program, std::vector<Child> starters, Ended ended,
               std::function<std::string()> missing);
  ~StarterWatch();  // does not end the starters
  StarterWatch(const StarterWatch&) = delete;
  StarterWatch& operator=(const StarterWatch&) = delete;

  // How the starter of that place ended: "srun ended: exit status 1"; empty while it runs.
  std::string ending(std::size_t place) const;
  std::string words(std::size_t place) const;             // its last output
  bool wait_for_end(std::chrono::milliseconds patience);  // of all starters; false: some still run
  void signal(int number);                                // to all starters

 private:
  struct Starter {
    Child child;
    bool talks = true, prints = true;  // has standard error, standard output open
    std::string line;                  // the unfinished line
    StderrTail tail;
    std::string ending;
  };

  // The caller holds the lock.
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
  bool stopping_ = false;     // used by the thread alone
  mutable std::mutex mutex_;  // guards `tail`, `ending`, each child's end, and:
  std::size_t running_;
  std::condition_variable gone_;
  std::thread thread_;
};

}  // namespace dtl
