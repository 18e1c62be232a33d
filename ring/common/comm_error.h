#pragma once
// CommError: an Error that also knows which dt_status the C ABI answers. It is thrown while a
// communicator is being set up. Afterwards failures are values: a status and a text
// (queue/first_error.h), because they concern all threads and not the one that meets them.

#include <string>
#include <utility>

#include "base/error.h"
#include "ring/dtring.h"

namespace dtl::ring {

class CommError : public Error {
 public:
  // Only a program looks at the exit status: dtring-perf. Callers of the library see the dt_status.
  CommError(int status, std::string attempted, std::string reason, std::string hint = {})
      : Error(Exit::kOs, std::move(attempted), std::move(reason), std::move(hint)),
        dt_status_(status) {}

  int dt_status() const { return dt_status_; }

 private:
  int dt_status_;
};

}  // namespace dtl::ring
