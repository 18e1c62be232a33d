// In formulas: m bytes, n nodes, L = ceil(log2 n); alpha, beta, gamma and overhead as in LinkCosts.
#include "launcher/forecast/forecast_model.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace dtl {
namespace {

// gamma, seconds for each byte that is added to another, and the time of a further message beside
// the first, in parts of alpha: the defaults of ring/operation/cost_model.h.
constexpr double kAddedByte = 0.1e-9, kOverheadShare = 8.0 / 25;
constexpr double kDdpBucket = 25 << 20;   // bucket_cap_mb of DistributedDataParallel
constexpr double kDdpBackward = 2.0 / 3;  // backward has twice the products of forward
constexpr std::int64_t kMostDrawn = 64;   // beyond, both probabilities are nearly the same
constexpr double kEthernet[] = {1, 2.5, 5, 10, 25, 40, 50, 100, 200, 400, 800};

struct Wire {
  double alpha = 0, beta = 0;  // seconds of a short message, and of a byte
};

Wire wire_of(double gbits, double trip_us) {
  return {trip_us * 1e-6 / 2, 8 / (gbits * 1e9)};
}

// What a sum needs of the link, and how much longer it takes: meanwhile other sums use the link.
struct SumTime {
  double busy = 0, latency = 0;
};

// The fastest of direct, halving and doubling among n > 1 nodes, each with a link of its own.
SumTime sum_time(double m, int nodes, const Wire& wire) {
  const double n = nodes, steps = std::bit_width(static_cast<unsigned>(nodes - 1));
  const double overhead = kOverheadShare * wire.alpha;
  const double moved = (n - 1) / n * m * (2 * wire.beta + kAddedByte);
  const double uneven = std::has_single_bit(static_cast<unsigned>(nodes)) ? 1.0 : 1.5;
  const double folds = uneven > 1 ? 1 : 0;
  const SumTime all[] = {
      {moved + 2 * (n - 2) * overhead, 2 * wire.alpha},
      {uneven * moved, 2 * steps * wire.alpha},
      {(steps + folds) * m * (wire.beta + kAddedByte), (steps + folds) * wire.alpha}};
  return *std::min_element(std::begin(all), std::end(all), [](const SumTime& a, const SumTime& b) {
    return a.busy + a.latency < b.busy + b.latency;
  });
}

double element_share(const std::string& wire) {
  return wire == "f32" ? 1.0 : 0.5;
}

double mean(const std::vector<double>& values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Of the mean: s / sqrt(count). 0 with less than two values.
double standard_error(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  const double middle = mean(values), count = static_cast<double>(values.size());
  double squares = 0;
  for (const double value : values) squares += (value - middle) * (value - middle);
  return std::sqrt(squares / (count - 1) / count);
}

// The expected largest of n draws, with replacement: the i-th of S sorted values is the largest
// with the probability (i/S)^n - ((i-1)/S)^n.
double expected_largest(std::vector<double> values, int draws) {
  std::sort(values.begin(), values.end());
  const auto count = static_cast<double>(values.size());
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<double>(i);
    sum += values[i] * (std::pow((at + 1) / count, draws) - std::pow(at / count, draws));
  }
  return sum;
}

// Sums beside and after backward. Time 0 is the end of backward.
struct SumsOfStep {
  double exposed = 0;       // seconds from there until the last one is complete
  double hidden_share = 0;  // of their time on the link, before it
};

SumsOfStep run_sums(const MeasuredStep& step, const Wire& wire, int nodes, double row_bytes,
                    double stretch) {
  const double share = element_share(step.wire);
  double free = -1e30, busy = 0, hidden = 0;
  SumsOfStep sums;
  const auto send = [&](double bytes, double ready) {
    const SumTime time = sum_time(bytes * share, nodes, wire);
    const double begin = std::max(free, ready);
    free = begin + time.busy;
    busy += time.busy;
    hidden += std::max(0.0, std::min(free, 0.0) - std::min(begin, 0.0));
    sums.exposed = std::max(sums.exposed, free + time.latency);
  };
  for (const GradientBucket& bucket : step.buckets) {
    send(bucket.bytes, -bucket.before_end_s * stretch);
  }
  if (row_bytes > 0) send(row_bytes, 0);
  // The loss: dttrain waits for it, and a step of PyTorch usually prints it.
  sums.exposed = std::max(sums.exposed, sum_time(sizeof(float), nodes, wire).latency);
  sums.hidden_share = busy > 0 ? hidden / busy : 0;
  return sums;
}

// CPU seconds of a node for the sums of a step. It sends 2 (n-1)/n of all bytes, receives as many,
// and adds half of them.
double sums_cpu_seconds(const MeasuredStep& step, double cpu_ns, int nodes) {
  double bytes = 0;
  for (const GradientBucket& bucket : step.buckets) bytes += bucket.bytes;
  const double share = static_cast<double>(nodes - 1) / nodes;
  return share * bytes * (2 * element_share(step.wire) * cpu_ns * 1e-9 + kAddedByte);
}

// Seconds that the optimizer waits for rows which only one rank uses. A gather moves (n-1)/n of
// all their bytes in each direction.
double exposed_rows(const MeasuredStep& step, const Wire& wire, int nodes, double row_bytes) {
  if (row_bytes == 0) return 0;
  const double n = nodes;
  const double gather = 2 * wire.alpha + (n - 1) / n * row_bytes * wire.beta;
  return std::max(0.0, gather - step.early_optimizer_s);
}

struct NetworkTime {
  double exposed = 0;  // after backward
  double cpu = 0;      // that backward gets longer by
};

NetworkTime network_time(const MeasuredStep& step, const LinkFigures& links, Wire wire, int nodes) {
  NetworkTime time;
  if (nodes == 1) return time;
  // libdtring's thread cannot send and receive faster than a CPU does.
  const double thread = step.cpus > 0 && !step.has_comm_core ? std::min(1.0, step.cpus) : 1.0;
  wire.beta = std::max(wire.beta, links.cpu_ns * 1e-9 / thread);
  const RowCounts rows = expected_rows(step, nodes * step.ranks_per_node);
  const double row_bytes = rows.shared * step.word_row_bytes;
  SumsOfStep sums = run_sums(step, wire, nodes, row_bytes, 1);
  const double window = step.buckets.empty() ? 0 : step.buckets.front().before_end_s;
  if (!step.has_comm_core && step.cpus > 0 && links.cpu_ns > 0 && window > 0) {
    const double cpus = step.cpus * step.ranks_per_node;
    time.cpu = sums.hidden_share * sums_cpu_seconds(step, links.cpu_ns, nodes) / cpus;
    // Backward takes longer, and so more sums fit beside it.
    sums = run_sums(step, wire, nodes, row_bytes, 1 + time.cpu / window);
  }
  // The waits within a node, which the measured step has, pass meanwhile.
  time.exposed = std::max(0.0, sums.exposed - step.local_wait_s) +
                 exposed_rows(step, wire, nodes, rows.alone * step.word_row_bytes);
  return time;
}

}  // namespace

// A word that c of S shares have is in none of R of them with the probability C(S-c,R) / C(S,R),
// and in exactly one with R c/S C(S-c,R-1) / C(S-1,R-1). For more ranks than shares or
// kMostDrawn, each rank has it with the probability c/S.
RowCounts expected_rows(const MeasuredStep& step, int ranks) {
  RowCounts rows;
  const auto S = static_cast<double>(step.word_shares);
  for (const WordUse& use : step.words) {
    const auto c = static_cast<double>(use.uses), words = static_cast<double>(use.words);
    double none = 1, others = 1;
    if (ranks <= std::min(step.word_shares, kMostDrawn)) {
      for (int i = 0; i < ranks; ++i) none *= std::max(0.0, S - c - i) / (S - i);
      for (int i = 0; i + 1 < ranks; ++i) others *= std::max(0.0, S - c - i) / (S - 1 - i);
    } else {
      none = std::pow(1 - c / S, ranks);
      others = std::pow(1 - c / S, ranks - 1);
    }
    const double one = ranks * c / S * others;
    rows.alone += words * one;
    rows.shared += words * std::max(0.0, 1 - none - one);
  }
  return rows;
}

ForecastRow forecast(const MeasuredStep& step, const LinkFigures& links, int nodes) {
  const double one = mean(step.computing_s), error = 2 * standard_error(step.computing_s);
  // Of a step without the wait for the slowest node.
  const auto with = [&](double gbits) {
    const NetworkTime time = network_time(step, links, wire_of(gbits, links.trip_us), nodes);
    return one + time.cpu + time.exposed;
  };
  const Wire wire = wire_of(links.gbits, links.trip_us);
  const NetworkTime network = network_time(step, links, wire, nodes);
  ForecastRow row;
  row.nodes = nodes;
  row.computing_s = one;
  row.slowest_s = std::max(0.0, expected_largest(step.computing_s, nodes) - one);
  row.sums_cpu_s = network.cpu;
  row.network_s = network.exposed;
  row.latency_s = network.exposed - network_time(step, links, {0, wire.beta}, nodes).exposed;
  row.step_s = one + row.slowest_s + row.sums_cpu_s + row.network_s;
  const double best = with(links.high_gbits);
  row.low_step_s = std::max(0.0, best - error);
  row.high_step_s = with(links.low_gbits) + row.slowest_s + error;
  // The error of `one` is in both numbers of the quotient. With one node it is the same number.
  const double work = nodes * one;
  row.speed_up = work / row.step_s;
  row.high_speed_up = work / best;
  row.low_speed_up = nodes == 1 ? 1 : work / row.high_step_s;
  row.efficiency = row.speed_up / nodes;
  row.tokens_per_s = nodes * step.tokens_per_node / row.step_s;
  return row;
}

MeasuredStep with_wire(MeasuredStep step, const std::string& wire) {
  step.wire = wire;
  return step;
}

MeasuredStep with_accumulation(MeasuredStep step, int times) {
  const double more = (times - 1) * step.passes_s;
  for (double& seconds : step.computing_s) seconds += more;
  for (double& seconds : step.whole_s) seconds += more;
  step.passes_s *= times;
  step.tokens_per_node *= times;
  // Words of several micro-batches: at least those of one. Their number is not known.
  return step;
}

double enough_gbits(const MeasuredStep& step, const LinkFigures& links, int nodes) {
  for (const double gbits : kEthernet) {
    const double waits = network_time(step, links, wire_of(gbits, links.trip_us), nodes).exposed;
    if (waits <= kFewWaits * (mean(step.computing_s) + waits)) return gbits;
  }
  return 0;
}

MeasuredStep step_of_ddp(double step_s, double gradient_bytes) {
  MeasuredStep step;
  step.computing_s = step.whole_s = {step_s};
  step.passes_s = step_s;
  const double count = std::max(1.0, std::ceil(gradient_bytes / kDdpBucket));
  for (double i = 1; i <= count; ++i) {
    step.buckets.push_back({gradient_bytes / count, kDdpBackward * step_s * (1 - i / count)});
  }
  return step;
}

}  // namespace dtl
