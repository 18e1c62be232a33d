#include "launcher/job/slow_links.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace dtl {
namespace {

constexpr std::uint64_t kBytesOfARate = 1
                                        << 20;  // in a window: of fewer the rate is a round trip's
constexpr double kSlowerBy = 3;  // others' rate to this one's: more than a busy host's chance
constexpr double kShareThatMatters =
    0.3;  // of the time that bytes were on their way: else it costs little

struct Rate {
  int from = 0, to = 0;
  double bytes_per_us = 0;
  double share = 0;  // of the window
  std::string peer;
};

double median_rate(std::vector<Rate> rates) {
  std::sort(rates.begin(), rates.end(),
            [](const Rate& a, const Rate& b) { return a.bytes_per_us < b.bytes_per_us; });
  return rates[rates.size() / 2].bytes_per_us;
}

std::string rate_text(double bytes_per_us) {
  return fmt::format("{:.1f} MB/s", bytes_per_us);
}

}  // namespace

void SlowLinks::begin(JobTime window, JobTime now) {
  window_ = window;
  excuse(now);
}

void SlowLinks::excuse(JobTime now) {
  began_ = now;
  wires_.clear();
}

void SlowLinks::report(int from, int to, const WireState& wire) {
  if (from == to) return;
  Wire& sum = wires_[{from, to}];
  sum.bytes += wire.bytes;
  sum.busy_us += wire.busy_us;
  sum.peer = wire.peer;
}

std::optional<SlowLink> SlowLinks::look(JobTime now) {
  if (window_.count() == 0 || now - began_ < window_) return std::nullopt;
  std::optional<SlowLink> slow = judge(now - began_);
  const int before = std::exchange(suspect_, slow ? slow->node : -1);
  excuse(now);
  if (slow && (before != slow->node || std::exchange(named_[slow->node], true))) slow.reset();
  return slow;
}

std::optional<SlowLink> SlowLinks::judge(JobTime lasted) const {
  std::vector<Rate> rates;
  for (const auto& [ends, wire] : wires_) {
    if (wire.bytes < kBytesOfARate || wire.busy_us == 0) continue;
    const auto busy = static_cast<double>(wire.busy_us);
    rates.push_back({ends.first, ends.second, static_cast<double>(wire.bytes) / busy,
                     busy / 1000 / static_cast<double>(lasted.count()), wire.peer});
  }
  if (rates.size() < 2) return std::nullopt;
  // Of the faster half: slow ones are few.
  const double usual = median_rate(rates);
  std::vector<Rate> slow;
  for (const Rate& rate : rates) {
    if (rate.bytes_per_us * kSlowerBy <= usual && rate.share >= kShareThatMatters)
      slow.push_back(rate);
  }
  if (slow.empty()) return std::nullopt;
  const auto touched_by_all = [&](int node) {
    return std::all_of(slow.begin(), slow.end(),
                       [&](const Rate& rate) { return rate.from == node || rate.to == node; });
  };
  const Rate& first = *std::min_element(slow.begin(), slow.end(), [](const Rate& a, const Rate& b) {
    return a.bytes_per_us < b.bytes_per_us;
  });
  SlowLink found;
  found.node = !touched_by_all(first.from) && touched_by_all(first.to) ? first.to : first.from;
  const bool sends = found.node == first.from;
  found.text = fmt::format(
      "slow network: {} {}, against {} over the others' links; its bytes were on their way {:.0f} "
      "% "
      "of the time",
      rate_text(first.bytes_per_us), sends ? "to " + first.peer : "from another host",
      rate_text(usual), std::min(first.share, 1.0) * 100);
  return found;
}

}  // namespace dtl
