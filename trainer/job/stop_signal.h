#pragma once
// StopSignal: while it lives, the first SIGTERM or SIGINT is remembered instead of ending the
// process; the second does what it would have done. One at a time.

namespace dtl::trainer {

class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  static int received();  // the signal's number, or 0
};

}  // namespace dtl::trainer
