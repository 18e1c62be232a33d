// The vote is a sum of three numbers that travels with the step's gradients, so it needs no extra
// round trip. Each rank acts on the sum, never on its own signal.
#include "trainer/job/signal_votes.h"

#include <csignal>
#include <cstdint>

#include "trainer/job/stop_signal.h"

namespace dtl::trainer {
namespace {

constexpr std::uint64_t kStopTag = 0xFFFF0030;
// A signal to all ranks reaches the last one at most this much later.
constexpr std::chrono::seconds kSameSignal{1};

}  // namespace

void SignalVotes::begin() {
  votes_[0] = StopSignal::received() == SIGTERM ? 1.0F : 0.0F;
  votes_[1] = StopSignal::received() == SIGINT ? 1.0F : 0.0F;
  votes_[2] = wants_checkpoint() ? 1.0F : 0.0F;
  work_ = group_.start_sum(votes_, 3, kStopTag);
}

SignalVotes::Asked SignalVotes::end() {
  group_.wait(work_);
  Asked asked;
  // SIGTERM wins if ranks received different signals.
  asked.stop = votes_[0] > 0 ? SIGTERM : votes_[1] > 0 ? SIGINT : 0;
  asked.checkpoint = votes_[2] > 0;
  if (asked.checkpoint) {
    fulfilled_ = CheckpointSignal::count();
    agreed_at_ = Clock::now();
  }
  return asked;
}

// dtlaunch sends a signal to every rank. A rank that receives it after the others agreed would ask
// for a second checkpoint. So within kSameSignal it counts as the same request.
bool SignalVotes::wants_checkpoint() {
  const int count = CheckpointSignal::count();
  const bool is_told = agreed_at_ != Clock::time_point::min();
  if (is_told && Clock::now() - agreed_at_ < kSameSignal) fulfilled_ = count;
  return count > fulfilled_;
}

}  // namespace dtl::trainer
