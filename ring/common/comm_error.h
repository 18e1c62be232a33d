#pragma once
// CommError: an Error with the dt_status that the C ABI returns. Only thrown during the setup of a
// communicator. Later failures are values, a status and a text (queue/first_error.h), because they
// concern all threads.

#include <string>
#include <utility>

#include "base/error.h"
#include "ring/dtring.h"

namespace dtl::ring {

class CommError : public Error {
 public:
  // Only dtring-perf uses the exit status. Callers of the library see the dt_status.
  CommError(int status, std::string attempted, std::string reason, std::string hint = {})
      : Error(Exit::kOs, std::move(attempted), std::move(reason), std::move(hint)),
        dt_status_(status) {}

  int dt_status() const { return dt_status_; }

 private:
  int dt_status_;
};

}  // namespace dtl::ring
