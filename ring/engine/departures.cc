// Only when leaving, the engine waits without epoll: nothing is left to drive, and the program
// waits in dt_comm_destroy.
#include "ring/engine/departures.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace dtl::ring {
namespace {

// How long destroy waits for acknowledgement of the last bytes. The kernel also delivers them after
// a close, unless a peer sends data that nobody reads any more: then it resets the connection and
// drops them.
constexpr auto kDrainTime = std::chrono::milliseconds(1000);

}  // namespace

bool Departures::has(int rank) const {
  return std::any_of(all_.begin(), all_.end(),
                     [rank](const Departure& departure) { return departure.rank == rank; });
}

bool Departures::add(int rank, std::uint64_t completed) {
  if (has(rank)) return false;
  all_.push_back({rank, completed});
  return true;
}

bool Departures::take_untold(int rank) {
  for (Departure& departure : all_) {
    if (departure.rank == rank) return !std::exchange(departure.is_told, true);
  }
  return false;
}

std::vector<Frame> Departures::as_news() const {
  std::vector<Frame> news;
  for (const Departure& departure : all_) {
    news.push_back({FrameKind::kBye, 0, departure.rank, departure.completed, {}});
  }
  return news;
}

std::optional<Departures::Obstacle> Departures::find_obstacle(const ActiveOperations& active,
                                                              std::uint64_t first,
                                                              const RankNames& names) const {
  for (const Departure& departure : all_) {
    for (const ActiveOperation* each : active.all()) {
      const Operation& operation = each->operation();
      const bool is_pair = operation.lane() == Lane::kPair;
      const bool is_over = is_pair ? operation.request().root != departure.rank
                                   : departure.completed >= first + operation.sequence();
      // Data that a rank sent before it left may still be in flight.
      if (is_over || (is_pair && operation.request().is_receive)) continue;
      if (each->schedule.is_done()) continue;  // done in this same turn
      return Obstacle{
          departure.rank,
          fmt::format("{} has left after {} operations, so operation {} ({}) cannot complete",
                      names.of(departure.rank),
                      departure.completed - std::min(first, departure.completed),
                      operation.sequence(), operation.description())};
    }
  }
  return std::nullopt;
}

void say_goodbye(int rank, std::uint64_t completed, ControlLines& lines,
                 const std::vector<int>& link_fds, Executor& executor) {
  const auto deadline = std::chrono::steady_clock::now() + kDrainTime;
  // Sent even during an operation: the others then know that this rank was not lost.
  lines.tell({FrameKind::kBye, 0, rank, completed, {}}, -1);
  if (executor.active().is_empty()) {
    while (!executor.say_farewell(completed) && std::chrono::steady_clock::now() < deadline) {
      ::poll(nullptr, 0, 1);
    }
    for (const int fd : link_fds) wait_until_acknowledged(fd, deadline);
  }
  lines.drain(deadline);
}

}  // namespace dtl::ring
