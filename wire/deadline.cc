// One timer, whose handler shares the state: it may be queued already when the Deadline goes.
#include "wire/deadline.h"

#include <utility>

namespace dtl {

Deadline::Deadline(asio::io_context& context, Clock::time_point when,
                   std::function<void()> when_passed)
    : timer_(context), when_passed_(std::move(when_passed)) {
  set(when);
}

void Deadline::postpone(Clock::duration from_now) {
  if (*state_ == State::kSet) set(Clock::now() + from_now);
}

void Deadline::set(Clock::time_point when) {
  // Cancels the wait before this one, whose handler then sees `cancelled`.
  timer_.expires_at(when);
  timer_.async_wait([this, state = state_](boost::system::error_code cancelled) {
    if (cancelled || *state != State::kSet) return;
    // A handler that is queued already cannot be cancelled; the wait that postpone() began has its
    // own.
    if (timer_.expiry() > Clock::now()) return;
    *state = State::kPassed;
    when_passed_();
  });
}

}  // namespace dtl
