#pragma once
// OwnNetwork: while it exists, its thread sees no abstract sockets of other processes, and so no
// claims and tickets of jobs that run on this machine. Only root can have it; for others it does
// nothing.

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include "base/fd.h"

namespace dtl::test {

class OwnNetwork {
 public:
  OwnNetwork() {
    if (::geteuid() != 0) return;
    before_ = Fd(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
    if (before_.valid() && ::unshare(CLONE_NEWNET) != 0) before_.reset();
  }
  ~OwnNetwork() {
    if (before_.valid()) (void)::setns(before_.get(), CLONE_NEWNET);
  }
  OwnNetwork(const OwnNetwork&) = delete;
  OwnNetwork& operator=(const OwnNetwork&) = delete;

 private:
  Fd before_;
};

}  // namespace dtl::test
