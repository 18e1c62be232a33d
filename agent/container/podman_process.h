#pragma once
// PodmanProcess: one podman, found on this process's PATH, with a socket as its descriptor 3 and
// its errors in memory. Its programs may outlive it. One io_context thread.

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "base/fd.h"
#include "wire/asio.h"

namespace dtl {

class PodmanProcess {
 public:
  // Throws Error(kOs). Without podman on this host its number() is ENOENT.
  PodmanProcess(asio::io_context& context, std::vector<std::string> words);
  ~PodmanProcess();  // podman runs on: killed halfway, it would leave a container behind
  PodmanProcess(const PodmanProcess&) = delete;
  PodmanProcess& operator=(const PodmanProcess&) = delete;

  // Until descriptor 3 has a message or nobody holds it any more; false after `patience`.
  awaitable<bool> link_ready(std::chrono::milliseconds patience);
  Fd take_link();
  // Waits for podman's end, for `patience` at most, and then kills it. Its exit status; 255 if it
  // was killed.
  awaitable<int> end(std::chrono::milliseconds patience);
  std::string errors() const;  // its last line; may be empty

 private:
  asio::io_context& context_;
  asio::posix::stream_descriptor link_;
  Fd errors_;
  pid_t pid_ = 0;  // 0: reaped
};

}  // namespace dtl
