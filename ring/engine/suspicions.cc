// The first suspicion of a rank sets its deadline. Its other connections, which end at about the
// same time, do not extend it.
#include "ring/engine/suspicions.h"

#include <algorithm>

#include "ring/links/channel.h"

namespace dtl::ring {
namespace {

// Longer than news take from a rank through rank 0 to another; far shorter than the second within
// which a lost rank must be named.
constexpr auto kSuspicionTime = std::chrono::milliseconds(200);

}  // namespace

void Suspicions::add(int rank, int error) {
  const auto is_it = [rank](const Suspicion& suspicion) { return suspicion.rank == rank; };
  const auto at = std::find_if(all_.begin(), all_.end(), is_it);
  if (at == all_.end()) return all_.push_back({rank, error, Clock::now() + kSuspicionTime});
  // An alert says who altered what; a closed connection says nothing.
  if (error == kRejected) at->error = error;
}

std::vector<Suspicion> Suspicions::take_due(Clock::time_point now) {
  std::vector<Suspicion> due;
  for (const Suspicion& each : all_) {
    if (now >= each.deadline) due.push_back(each);
  }
  std::erase_if(all_, [&](const Suspicion& each) { return now >= each.deadline; });
  return due;
}

Suspicions::Clock::time_point Suspicions::next_deadline() const {
  auto deadline = Clock::time_point::max();
  for (const Suspicion& suspicion : all_) deadline = std::min(deadline, suspicion.deadline);
  return deadline;
}

}  // namespace dtl::ring
