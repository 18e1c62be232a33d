// Every decision uses numbers that take_slowest() has made equal on all ranks. A rank that used its
// own clock would measure once more or less than the others, and hang.
#include "ring/api/tuner.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "ring/operation/choice.h"

namespace dtl::ring {
namespace {

constexpr double kEnough = 0.1;  // seconds: on such slow links only bandwidth counts
constexpr int kMostMisses = 2;   // in a row: one may be noise
// Odd, and so is a third of it, so that the median is one of the values.
constexpr int kRepeats = 9;
constexpr double kBriefTime = 2e-3;  // seconds, for this many repeats
// Bytes. The shortest sums are not measured: the quick algorithm is made for them. Beyond
// kLargeBytes it tries a ring, with a sum long enough to show its bandwidth.
constexpr std::uint64_t kLeastBorder = 4 << 10;
constexpr std::uint64_t kLargeBytes = 512 << 10, kRingBytes = 1 << 20;
// What is too short to matter for bandwidth; and the least costs that a measurement may say, in
// seconds: noise must not make anything free.
constexpr std::uint64_t kBriefBytes = 8;
constexpr double kSlow = 20e-3;  // seconds: a sum that is measured only once
constexpr double kLeastLatency = 1e-7, kLeastByte = 1e-12;

float median_of(std::vector<double>& all) {
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end());
  return static_cast<float>(*middle);
}

// In place.
Request allreduce_of(std::span<float> values) {
  Request request;
  request.opcode = Opcode::kAllreduce;
  request.dtype = DT_F32;
  request.count = values.size();
  request.in = request.out = reinterpret_cast<std::byte*>(values.data());
  return request;
}

}  // namespace

Trial trial_of(std::function<void(const Request& request)> carry_out) {
  Trial trial;
  trial.time_once = [carry_out](Algorithm algorithm, std::vector<float>& values) {
    carry_out({});  // a barrier, so that one rank's delay does not add to another's time
    Request request = allreduce_of(values);
    request.algorithm = algorithm;
    const auto begin = std::chrono::steady_clock::now();
    carry_out(request);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  trial.take_slowest = [carry_out](std::span<float> values) {
    Request request = allreduce_of(values);
    request.op = DT_MAX;
    carry_out(request);
  };
  return trial;
}

Tuner::Tuner(int world, std::size_t nodes, Trial trial)
    : world_(world), nodes_(nodes), trial_(std::move(trial)) {}

Tuned Tuner::measure(const AlgorithmTable& guess) {
  Tuned tuned;
  tuned.costs = measure_links();
  tuned.table = AlgorithmTable::is_timed({static_cast<std::size_t>(world_), nodes_})
                    ? try_algorithms(guess)
                    : AlgorithmTable::by_default(world_, nodes_, tuned.costs);
  return tuned;
}

// Solves the cost model's formulas for latency and bandwidth, of a sum whose time is almost only
// latency and of one that shows the bandwidth. So they are those of all ranks at once, as in use.
LinkCosts Tuner::measure_links() {
  const WorldShape shape{static_cast<std::size_t>(world_), nodes_};
  LinkCosts costs;
  costs.is_measured = true;
  // Both formulas are linear in what is looked for: two points give the line.
  const auto solve = [&](Algorithm algorithm, std::uint64_t bytes, double least, auto set) {
    const double time = time_of(algorithm, bytes);
    set(1.0);
    const double at_one = allreduce_time(algorithm, shape, bytes, costs);
    set(2.0);
    const double slope = allreduce_time(algorithm, shape, bytes, costs) - at_one;
    set(std::max(least, (time - at_one) / slope + 1));
  };
  solve(Algorithm::kDoubling, kBriefBytes, kLeastLatency,
        [&](double seconds) { set_latency(costs, shape, seconds); });
  solve(Algorithm::kHalving, kRingBytes, kLeastByte,
        [&](double seconds) { set_byte(costs, shape, seconds); });
  return costs;
}

// Seconds, of the slowest rank; median of a few.
double Tuner::time_of(Algorithm algorithm, std::uint64_t bytes) {
  std::vector<float> values(bytes / sizeof(float));
  // Warms up memory, and opens connections. If it takes long, that matters little, and repeats
  // would make all ranks wait.
  std::array first{static_cast<float>(trial_.time_once(algorithm, values))};
  trial_.take_slowest(first);
  if (static_cast<double>(first[0]) > kSlow) return static_cast<double>(first[0]);
  std::vector<double> times;
  while (times.size() < kRepeats / 3) times.push_back(trial_.time_once(algorithm, values));
  std::array worst{median_of(times)};
  trial_.take_slowest(worst);
  return static_cast<double>(worst[0]);
}

AlgorithmTable Tuner::try_algorithms(const AlgorithmTable& guess) {
  constexpr Algorithm quick = Algorithm::kOneShot;
  // The guess for the longest sums.
  const Algorithm large = guess.choose(1 << 30);
  const std::uint64_t border = border_of(quick, large);
  AlgorithmTable table = AlgorithmTable::by_default(world_, nodes_);
  Algorithm beyond = large;
  if (nodes_ > 2 && nodes_ <= kMaxDirect && spent_ < kEnough &&
      is_quicker(Algorithm::kRing, Algorithm::kDirect, kRingBytes)) {
    beyond = Algorithm::kRing;
  }
  table.set(beyond, kLargeBytes, kAnySize);
  table.set(large, border, kLargeBytes);
  table.set(quick, 0, border);
  return table;
}

// The size up to which the quick algorithm is quicker.
std::uint64_t Tuner::border_of(Algorithm quick, Algorithm large) {
  const std::uint64_t most = nodes_ == 1 ? 256 << 10 : 64 << 10;
  std::uint64_t border = kLeastBorder;
  int misses = 0;
  for (std::uint64_t bytes = 2 * border; bytes <= most && spent_ < kEnough; bytes *= 2) {
    const bool is_better = is_quicker(quick, large, bytes);
    misses = is_better ? 0 : misses + 1;
    if (is_better) border = bytes;
    if (misses == kMostMisses) break;
  }
  return border;
}

// Compares medians of alternating measurements, of the slowest rank.
bool Tuner::is_quicker(Algorithm one, Algorithm other, std::uint64_t bytes) {
  std::vector<float> values(bytes / sizeof(float));
  std::array<std::vector<double>, 2> times;
  const auto begin = std::chrono::steady_clock::now();
  int repeats = kRepeats;
  for (int i = -1; i < repeats; ++i) {  // the first ones warm up memory
    // Alternating, so that both see the same noise.
    const std::array turn{trial_.time_once(one, values), trial_.time_once(other, values)};
    if (i == -1) {
      // Slow links get fewer repeats: the difference is clear there, or measuring too expensive.
      std::array worst{static_cast<float>(turn[0] + turn[1])};
      trial_.take_slowest(worst);
      repeats = static_cast<double>(worst[0]) > kBriefTime ? kRepeats / 3 : kRepeats;
      continue;
    }
    for (std::size_t k = 0; k < turn.size(); ++k) times[k].push_back(turn[k]);
  }
  const std::chrono::duration<float> total = std::chrono::steady_clock::now() - begin;
  std::array worst{median_of(times[0]), median_of(times[1]), total.count()};
  trial_.take_slowest(worst);
  spent_ += static_cast<double>(worst[2]);
  return worst[0] <= worst[1];
}

}  // namespace dtl::ring
