#pragma once
// Notifier: tells the service manager how this process is, in systemd's sd_notify protocol: one
// datagram of NAME=VALUE lines to the unix socket that $NOTIFY_SOCKET names. Written by hand, so
// that dtagent needs no library on a host. Without such a variable it does nothing.

#include <sys/socket.h>
#include <sys/un.h>

#include <chrono>
#include <string>

#include "base/fd.h"

namespace dtl {

// What a variable says, "" without one; neither this process nor its children see it again.
std::string take_variable(const char* name);

class Notifier {
 public:
  // Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID and removes them from the environment: they
  // are meant for this process alone.
  Notifier();

  // lines: "READY=1\nSTATUS=idle". Never waits and never fails: a manager that does not listen must
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
