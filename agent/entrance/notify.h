#pragma once
// Notifier: reports the state of this process to the service manager in systemd's sd_notify
// protocol: a datagram of NAME=VALUE lines to the unix socket $NOTIFY_SOCKET. Own code, so that
// dtagent needs no library on a host. Does nothing if the variable is not set.

#include <sys/socket.h>
#include <sys/un.h>

#include <chrono>
#include <string>

#include "base/fd.h"

namespace dtl {

// Returns the value, "" if unset, and removes the variable for this process and its children.
std::string take_variable(const char* name);

class Notifier {
 public:
  // Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID and removes them from the environment: they
  // are only for this process.
  Notifier();

  // lines: "READY=1\nSTATUS=idle". Never waits and never fails: a manager that does not read must
  // not disturb the jobs.
  void send(const std::string& lines) const;
  // How often to send WATCHDOG=1; zero: never.
  std::chrono::microseconds watchdog_interval() const { return watchdog_; }

 private:
  Fd socket_;
  sockaddr_un address_{};
  socklen_t address_size_ = 0;
  std::chrono::microseconds watchdog_{0};
};

}  // namespace dtl
