// A rate is bytes divided by the time in which they were in transit, which the kernel counts as the
// sender's busy time.
#include "launcher/job/slow_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/text.h"

namespace dtl {
namespace {

constexpr std::uint64_t kBytesOfARate = 1 << 20;  // per window: with fewer it measures round trips
constexpr double kSlowerBy = 3;  // others' rate to this one's: more than a busy host causes
constexpr double kShareThatMatters =
    0.3;  // of the time that bytes were in transit; below, it costs little

struct Rate {
  int from = 0, to = 0;
  double bytes_per_us = 0;
  double share = 0;  // of the window
  std::string peer;
};

bool is_slower(const Rate& a, const Rate& b) {
  return a.bytes_per_us < b.bytes_per_us;
}

// Of an even number the slower one: a link that is three times slower than that is slow for
// certain.
double median_rate(std::vector<Rate> rates) {
  std::sort(rates.begin(), rates.end(), is_slower);
  return rates[(rates.size() - 1) / 2].bytes_per_us;
}

bool is_slow(const Rate& rate, double usual) {
  return rate.bytes_per_us * kSlowerBy <= usual && rate.share >= kShareThatMatters;
}

bool touches(const Rate& rate, int node) {
  return rate.from == node || rate.to == node;
}

// The usual rate of links that do not touch this host; nullopt unless it is the host that all slow
// links have in common. Of three hosts a slow one touches four of the six links, so that the median
// of all links would be a slow one.
std::optional<double> usual_without(const std::vector<Rate>& rates, int node) {
  std::vector<Rate> others;
  std::copy_if(rates.begin(), rates.end(), std::back_inserter(others),
               [&](const Rate& rate) { return !touches(rate, node); });
  if (others.empty()) return std::nullopt;
  const double usual = median_rate(others);
  const bool has_all = std::none_of(others.begin(), others.end(),
                                    [&](const Rate& rate) { return is_slow(rate, usual); });
  return has_all ? std::optional(usual) : std::nullopt;
}

std::string rate_text(double bytes_per_us) {
  return fmt::format("{:.1f} MB/s", bytes_per_us);
}

SlowLink told_of(const Rate& rate, int node, double usual) {
  SlowLink slow;
  slow.node = node;
  slow.text = fmt::format(
      "slow network: {} {}, against {} over the others' links; its bytes were on their way {:.0f} "
      "% of the time",
      rate_text(rate.bytes_per_us), node == rate.from ? "to " + rate.peer : "from another host",
      rate_text(usual), std::min(rate.share, 1.0) * 100);
  return slow;
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
  // Between ranks of one host no network is involved.
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
  // A single link cannot be compared.
  if (rates.size() < 2) return std::nullopt;
  std::vector<Rate> costly;
  std::copy_if(rates.begin(), rates.end(), std::back_inserter(costly),
               [](const Rate& rate) { return rate.share >= kShareThatMatters; });
  if (costly.empty()) return std::nullopt;
  std::sort(costly.begin(), costly.end(), is_slower);
  const Rate& first = costly.front();
  // Either end of the slowest link may be the host that all slow links have in common.
  for (const int node : {first.from, first.to}) {
    const std::optional<double> usual = usual_without(rates, node);
    if (!usual || !is_slow(first, *usual)) continue;
    // Acknowledgements use the way back too, so the host's own sending says more.
    const auto own = std::find_if(costly.begin(), costly.end(),
                                  [&](const Rate& rate) { return rate.from == node; });
    return told_of(own != costly.end() && is_slow(*own, *usual) ? *own : first, node, *usual);
  }
  // Two hosts, or several slow ones: compare with the faster half of all links.
  std::nth_element(rates.begin(), rates.begin() + static_cast<std::ptrdiff_t>(rates.size() / 2),
                   rates.end(), is_slower);
  const double usual = rates[rates.size() / 2].bytes_per_us;
  if (!is_slow(first, usual)) return std::nullopt;
  return told_of(first, first.from, usual);
}

}  // namespace dtl
