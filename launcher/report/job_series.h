#pragma once
// JobSeries: what the ranks of a job used over its time (CPU, memory, network, output), and how far
// its training came. It needs 0.8 MB at most, and some 130 bytes a rank, however long the job runs:
// once it has kMostPoints points, each two become one. Samples come from agents, so counters may
// jump or go backwards; such a step counts as unknown. Pure: the caller has the clock.
//
// Up to kMostSeriesRanks ranks, each has curves of its own; beyond, the lowest, the median and the
// highest of all ranks at each point are kept.

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace dtl {

constexpr std::size_t kMostSeriesRanks = 64;

// What an agent reports of a rank. The counters are those since the rank began.
struct RankSample {
  std::uint32_t rank = 0;
  std::uint64_t cpu_ms = 0, memory_kib = 0;
  std::uint64_t sent_bytes = 0;        // by TCP to other machines, since the last report
  std::uint64_t collective_bytes = 0;  // that libdtring sent and received
  std::uint64_t step = 0, tokens = 0;  // of the job's training; 0: unknown
  double loss = std::numeric_limits<double>::quiet_NaN();  // NaN: unknown
};

// Of one rank since the current epoch began.
struct RankTotals {
  bool reported = false;  // by its agent, at least once
  std::uint64_t cpu_ms = 0, sent_bytes = 0, collective_bytes = 0, output_bytes = 0;
};

struct SeriesCurve {
  std::string name;  // "0": rank 0; or "lowest", "median", "highest" of all ranks; or empty
  std::vector<double> values;  // one for each point; NaN: unknown
};
struct SeriesMetric {
  std::string name;  // "cpu_cores"; the unit is the name's end
  std::vector<SeriesCurve> curves;
};
// Point i is about the time from i * point_s to (i + 1) * point_s.
struct SeriesTable {
  double point_s = 0;
  std::vector<SeriesMetric> ranks, job;  // metrics without any value are left out
};

class JobSeries {
 public:
  static constexpr std::size_t kMostPoints = 240;

  // All times are in seconds since the job began, and do not go back.
  // An epoch's ranks begin; their counters are 0.
  void begin(std::size_t ranks, double now);
  void sample(const RankSample& sample, double now);
  void output(std::uint32_t rank, std::uint64_t bytes, double now);

  // With at most most_numbers values, unless 2 points have more.
  SeriesTable table(std::size_t most_numbers) const;
  const std::vector<RankTotals>& totals() const { return totals_; }

 private:
  enum Metric { kCpu, kMemory, kSent, kCollective, kOutput, kMetrics };
  // Of one rank during one point.
  struct Cell {
    double cpu_ms = 0, cpu_s = 0;  // the time in which it used that
    double memory_kib = 0;         // the highest; 0: unknown
    double sent = 0, collective = 0, traffic_s = 0;
    double output = 0;
    void add(const Cell& other);
  };
  struct Range {
    float low = 0, middle = 0, high = 0;  // NaN: unknown
  };
  struct Progress {
    double step = 0, loss = std::numeric_limits<double>::quiet_NaN();  // the last ones
    double tokens = 0, tokens_s = 0;
    void add(const Progress& later);
  };
  struct Point {
    std::vector<Cell> ranks;            // kept one by one
    std::array<Range, kMetrics> all{};  // of many ranks
    Progress progress;
  };
  struct Last {  // a rank's last sample
    double at = 0;
    std::uint64_t cpu_ms = 0, collective = 0;
  };

  void advance(double now);
  void close_point();
  void halve();
  void hear_progress(const RankSample& sample, double now);
  static double value_of(const Cell& cell, Metric metric, double length);
  Range range_of(const std::vector<Cell>& cells, Metric metric, double length) const;
  void summarise(Point& point) const;
  static Range merged(const Range& a, const Range& b);
  SeriesMetric metric_of(const std::vector<Point>& points, Metric metric) const;
  std::vector<SeriesMetric> progress_of(const std::vector<Point>& points) const;
  std::size_t curves() const;

  bool many_ = false;
  double point_s_ = 1;         // of most jobs' agents, each report is a point then
  std::vector<Point> points_;  // that are over
  Point now_;                  // the next one, which is not; its ranks are always one by one
  std::vector<Last> last_;     // of each rank
  std::vector<RankTotals> totals_;
  std::size_t widest_ = 0;  // the most ranks of an epoch
  // Progress is that of the lowest rank that has told any, since all tell the same.
  std::uint32_t teller_ = UINT32_MAX;
  double told_at_ = 0;
  std::uint64_t told_tokens_ = 0;
};

}  // namespace dtl
