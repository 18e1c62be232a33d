#pragma once
// SrunWatch: an srun that runs: what it says and how it ends. A thread of its own; all functions
// may be called from any thread.

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "launcher/streams/child.h"
#include "launcher/streams/stderr_tail.h"

namespace dtl {

class SrunWatch {
 public:
  // ended: on the thread, once, when srun has ended, with how. missing: which nodes have not come
  // yet, as a line about a wait names them; empty: all are there.
  SrunWatch(Child srun, std::function<void(const std::string& how)> ended,
            std::function<std::string()> missing);
  ~SrunWatch();  // does not end srun
  SrunWatch(const SrunWatch&) = delete;
  SrunWatch& operator=(const SrunWatch&) = delete;

  // "exit status 1", "killed by SIGKILL"; empty while it runs.
  std::string ending() const;
  std::string words() const;  // the last that it, and the dtlaunch of each node, has said
  bool wait_for_end(std::chrono::milliseconds patience);
  void signal(int number);

 private:
  void watch();
  bool read_words(int fd);

  Child srun_;
  const std::function<void(const std::string&)> ended_;
  const std::function<std::string()> missing_;
  Fd stop_;  // an eventfd
  mutable std::mutex mutex_;
  std::condition_variable gone_;
  std::string ending_;
  StderrTail tail_;
  std::string line_;  // that has not ended yet
  std::thread thread_;
};

}  // namespace dtl
