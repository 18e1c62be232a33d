// A rate is a sum divided by the time that it was summed over, so two points become one exactly.
#include "launcher/report/job_series.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace dtl {
namespace {

constexpr double kUnknownValue = std::numeric_limits<double>::quiet_NaN();
constexpr double kManyPoint = 4;    // s; reports are 3 s apart, so each point has all ranks
constexpr double kShortest = 1e-3;  // s between two samples: no division by 0

// The names say the units: MB and kB are 10^6 and 10^3 bytes.
constexpr std::array<const char*, 5> kNames = {"cpu_cores", "memory_mib", "sent_mb_per_second",
                                               "collectives_mb_per_second", "output_kb_per_second"};

double rate(double sum, double seconds) {
  return seconds > 0 ? sum / seconds : kUnknownValue;
}

// Adds it if it says something. All zeros do so only of what every rank uses.
void add_known(std::vector<SeriesMetric>& metrics, SeriesMetric metric, bool with_zeros) {
  const auto says_something = [&](double value) {
    return !std::isnan(value) && (with_zeros || value < 0 || value > 0);
  };
  for (const SeriesCurve& curve : metric.curves) {
    if (std::any_of(curve.values.begin(), curve.values.end(), says_something)) {
      return metrics.push_back(std::move(metric));
    }
  }
}

}  // namespace

void JobSeries::Cell::add(const Cell& other) {
  cpu_ms += other.cpu_ms;
  cpu_s += other.cpu_s;
  memory_kib = std::max(memory_kib, other.memory_kib);
  sent += other.sent;
  collective += other.collective;
  traffic_s += other.traffic_s;
  output += other.output;
}

void JobSeries::Progress::add(const Progress& later) {
  if (later.step > 0) step = later.step;
  if (!std::isnan(later.loss)) loss = later.loss;
  tokens += later.tokens;
  tokens_s += later.tokens_s;
}

void JobSeries::begin(std::size_t ranks, double now) {
  advance(now);
  widest_ = std::max(widest_, ranks);
  if (ranks > kMostSeriesRanks && !many_) {
    for (Point& point : points_) summarise(point);
    many_ = true;
    while (point_s_ < kManyPoint) halve();
    advance(now);
  }
  last_.assign(ranks, Last{now, 0, 0});
  totals_.assign(ranks, RankTotals{});
  now_.ranks.resize(std::max(now_.ranks.size(), ranks));
  teller_ = UINT32_MAX;
  told_at_ = now;
  told_tokens_ = 0;
}

void JobSeries::sample(const RankSample& sample, double now) {
  if (sample.rank >= last_.size()) return;
  advance(now);
  Last& last = last_[sample.rank];
  Cell& cell = now_.ranks[sample.rank];
  RankTotals& total = totals_[sample.rank];
  const double time = std::max(now - last.at, kShortest);
  // A sum over processes falls if one of them ends. What was used meanwhile is unknown.
  if (sample.cpu_ms >= last.cpu_ms) {
    total.cpu_ms += sample.cpu_ms - last.cpu_ms;
    cell.cpu_ms += static_cast<double>(sample.cpu_ms - last.cpu_ms);
    cell.cpu_s += time;
  }
  if (sample.collective_bytes >= last.collective) {
    total.collective_bytes += sample.collective_bytes - last.collective;
    cell.collective += static_cast<double>(sample.collective_bytes - last.collective);
  }
  total.sent_bytes += sample.sent_bytes;
  total.reported = true;
  cell.sent += static_cast<double>(sample.sent_bytes);
  cell.traffic_s += time;
  cell.memory_kib = std::max(cell.memory_kib, static_cast<double>(sample.memory_kib));
  last = {now, sample.cpu_ms, sample.collective_bytes};
  hear_progress(sample, now);
}

void JobSeries::hear_progress(const RankSample& sample, double now) {
  const bool tells = sample.step > 0 || sample.tokens > 0 || !std::isnan(sample.loss);
  if (!tells || sample.rank > teller_) return;
  Progress told;
  told.step = static_cast<double>(sample.step);
  if (std::isfinite(sample.loss)) told.loss = sample.loss;
  // Another rank's count, or that of a resumed training, is where the next one begins.
  const bool goes_on = sample.rank == teller_ && sample.tokens >= told_tokens_;
  if (goes_on && told_tokens_ > 0) {
    told.tokens = static_cast<double>(sample.tokens - told_tokens_);
    told.tokens_s = std::max(now - told_at_, kShortest);
  }
  now_.progress.add(told);
  teller_ = sample.rank;
  told_at_ = now;
  told_tokens_ = sample.tokens;
}

void JobSeries::output(std::uint32_t rank, std::uint64_t bytes, double now) {
  if (rank >= totals_.size()) return;
  advance(now);
  totals_[rank].output_bytes += bytes;
  now_.ranks[rank].output += static_cast<double>(bytes);
}

// Closes all points that are over at `now`.
void JobSeries::advance(double now) {
  const auto is_over = [&](std::size_t point) {
    return now >= static_cast<double>(point + 1) * point_s_;
  };
  while (is_over(points_.size())) {
    if (points_.size() == kMostPoints) {
      halve();
    } else {
      close_point();
    }
  }
}

void JobSeries::close_point() {
  const std::size_t ranks = now_.ranks.size();
  if (many_) summarise(now_);
  points_.push_back(std::exchange(now_, {}));
  now_.ranks.resize(ranks);
}

double JobSeries::value_of(const Cell& cell, Metric metric, double length) {
  switch (metric) {
    case kCpu:
      return rate(cell.cpu_ms / 1e3, cell.cpu_s);
    case kMemory:
      return cell.memory_kib > 0 ? cell.memory_kib / 1024 : kUnknownValue;
    case kSent:
      return rate(cell.sent / 1e6, cell.traffic_s);
    case kCollective:
      return rate(cell.collective / 1e6, cell.traffic_s);
    case kOutput:
      return rate(cell.output / 1e3, length);
    case kMetrics:
      break;
  }
  return kUnknownValue;
}

JobSeries::Range JobSeries::range_of(const std::vector<Cell>& cells, Metric metric,
                                     double length) const {
  std::vector<float> values;
  for (const Cell& cell : cells) {
    const double value = value_of(cell, metric, length);
    if (!std::isnan(value)) values.push_back(static_cast<float>(value));
  }
  if (values.empty()) {
    const auto unknown = static_cast<float>(kUnknownValue);
    return {unknown, unknown, unknown};
  }
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return {*std::min_element(values.begin(), middle + 1), *middle,
          *std::max_element(middle, values.end())};
}

void JobSeries::summarise(Point& point) const {
  for (std::size_t i = 0; i < kMetrics; ++i) {
    point.all[i] = range_of(point.ranks, static_cast<Metric>(i), point_s_);
  }
  point.ranks.clear();
  point.ranks.shrink_to_fit();
}

// The median of two medians is not known; their mean lies between them.
JobSeries::Range JobSeries::merged(const Range& a, const Range& b) {
  if (std::isnan(a.middle)) return b;
  if (std::isnan(b.middle)) return a;
  return {std::min(a.low, b.low), (a.middle + b.middle) / 2, std::max(a.high, b.high)};
}

void JobSeries::halve() {
  if (points_.size() % 2 != 0) close_point();
  for (std::size_t i = 0; i < points_.size(); i += 2) {
    Point first = std::move(points_[i]);
    Point& second = points_[i + 1];
    if (second.ranks.size() < first.ranks.size()) second.ranks.resize(first.ranks.size());
    for (std::size_t rank = 0; rank < first.ranks.size(); ++rank) {
      second.ranks[rank].add(first.ranks[rank]);
    }
    for (std::size_t m = 0; m < kMetrics; ++m) {
      second.all[m] = merged(first.all[m], second.all[m]);
    }
    first.progress.add(second.progress);
    second.progress = first.progress;
    points_[i / 2] = std::move(second);
  }
  points_.resize(points_.size() / 2);
  point_s_ *= 2;
}

std::size_t JobSeries::curves() const {
  return many_ ? 3 : widest_;
}

SeriesMetric JobSeries::metric_of(const std::vector<Point>& points, Metric metric) const {
  SeriesMetric result{kNames[metric], std::vector<SeriesCurve>(curves())};
  if (many_) {
    result.curves[0].name = "lowest";
    result.curves[1].name = "median";
    result.curves[2].name = "highest";
    for (const Point& point : points) {
      const Range& range = point.all[metric];
      result.curves[0].values.push_back(range.low);
      result.curves[1].values.push_back(range.middle);
      result.curves[2].values.push_back(range.high);
    }
    return result;
  }
  for (std::size_t rank = 0; rank < curves(); ++rank) {
    result.curves[rank].name = std::to_string(rank);
    for (const Point& point : points) {
      const bool known = rank < point.ranks.size();
      result.curves[rank].values.push_back(known ? value_of(point.ranks[rank], metric, point_s_)
                                                 : kUnknownValue);
    }
  }
  return result;
}

std::vector<SeriesMetric> JobSeries::progress_of(const std::vector<Point>& points) const {
  SeriesCurve step, loss, tokens;
  for (const Point& point : points) {
    const Progress& told = point.progress;
    step.values.push_back(told.step > 0 ? told.step : kUnknownValue);
    loss.values.push_back(told.loss);
    tokens.values.push_back(rate(told.tokens, told.tokens_s));
  }
  std::vector<SeriesMetric> result;
  add_known(result, {"step", {step}}, false);
  add_known(result, {"loss", {loss}}, false);
  add_known(result, {"tokens_per_second", {tokens}}, false);
  return result;
}

SeriesTable JobSeries::table(std::size_t most_numbers) const {
  JobSeries whole = *this;
  whole.close_point();
  for (;;) {
    SeriesTable table;
    table.point_s = whole.point_s_;
    for (std::size_t i = 0; i < kMetrics; ++i) {
      const auto metric = static_cast<Metric>(i);
      add_known(table.ranks, whole.metric_of(whole.points_, metric), metric == kCpu);
    }
    table.job = whole.progress_of(whole.points_);
    const std::size_t numbers =
        whole.points_.size() * (table.ranks.size() * curves() + table.job.size());
    if (numbers <= most_numbers || whole.points_.size() <= 2) return table;
    whole.halve();
  }
}

}  // namespace dtl
