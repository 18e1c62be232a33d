// One timer. Its handler shares the state: it may already be queued when the Deadline is destroyed.
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
  // Cancels the earlier wait; its handler then sees `cancelled`.
  timer_.expires_at(when);
  timer_.async_wait([this, state = state_](boost::system::error_code cancelled) {
    if (cancelled || *state != State::kSet) return;
    // An already queued handler cannot be cancelled. After postpone() it must do nothing: the new
    // wait has another handler.
    if (timer_.expiry() > Clock::now()) return;
    *state = State::kPassed;
    when_passed_();
  });
}

}  // namespace dtl
