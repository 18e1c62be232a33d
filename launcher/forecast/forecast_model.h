#pragma once
// The model of `dtlaunch forecast`: a step measured on one node and the figures of the links give
// the time of a step on N nodes, each with as much work as the measured one. Pure.
//
//   step = computing + slowest + sums' CPU time + exposed sums + exposed rows
//
//   computing      mean of the measured steps without waits for other nodes
//   slowest        E[max of N] - mean of these steps: every step waits for its slowest node
//   sums' CPU time without a core of its own, the bytes of sums that travel during backward take
//                  CPU time from it
//   exposed sums   from the end of backward to the last sum; bucket after bucket takes the wire
//                  once it is complete and the wire is free
//   exposed rows   rows of word embeddings that the optimizer still waits for
//
// The formulas of a sum are those of R. Thakur, R. Rabenseifner and W. Gropp, "Optimization of
// collective communication operations in MPICH", IJHPCA 19 (2005), as libdtring uses them to choose
// an algorithm (ring/operation/cost_model.h).

#include <cstdint>
#include <string>
#include <vector>

namespace dtl {

struct GradientBucket {
  double bytes = 0;         // of floats
  double before_end_s = 0;  // from its completion to the end of backward
};

struct WordUse {  // `words` words occur in `uses` of the shares
  std::int64_t uses = 0, words = 0;
};

struct MeasuredStep {
  int nodes = 1, ranks_per_node = 1;
  std::string wire = "f32";         // format of gradients: f32, bf16, f16
  double cpus = 0;                  // that a rank kept busy; 0: unknown
  bool has_comm_core = false;       // sums take no CPU time from computing
  double tokens_per_node = 0;       // per step; 0: unknown
  std::vector<double> computing_s;  // of each step; with nodes == 1 including waits of its ranks
  std::vector<double> whole_s;      // of each step, with all waits
  double local_wait_s = 0;          // mean wait of the ranks of one node for each other
  double passes_s = 0;              // mean of forward and backward, which accumulation repeats
  double early_optimizer_s = 0;     // mean; rows of word embeddings travel meanwhile
  std::vector<GradientBucket> buckets;  // in the order of sending
  double word_row_bytes = 0;
  std::int64_t word_shares = 0;  // shares that `words` counts
  std::vector<WordUse> words;
};

struct LinkFigures {
  double gbits = 0, low_gbits = 0, high_gbits = 0;  // Gbit/s in each direction at once
  double trip_us = 50;                              // there and back, of a short message
  double cpu_ns = 0;                                // CPU time for a byte sent and received
};

struct ForecastRow {
  int nodes = 1;
  double step_s = 0, low_step_s = 0, high_step_s = 0;
  double speed_up = 1, low_speed_up = 1, high_speed_up = 1;  // work per second against one node
  double efficiency = 1;                                     // speed-up / nodes
  double tokens_per_s = 0;                                   // 0: unknown
  double computing_s = 0, slowest_s = 0;
  double sums_cpu_s = 0;  // that sums take from computing
  double network_s = 0;   // exposed sums and rows
  double latency_s = 0;   // of network_s: what links without latency would save
};

// The interval of a row: computing +- two standard errors of its mean, links at low_gbits and at
// high_gbits; the upper step time has the wait for the slowest node, the lower one has not, as slow
// steps of several nodes may coincide. nodes >= 1.
ForecastRow forecast(const MeasuredStep& step, const LinkFigures& links, int nodes);

// The same work with another format of gradients; each element of bf16 and f16 has two bytes.
MeasuredStep with_wire(MeasuredStep step, const std::string& wire);
// With `times` as many micro-batches, and so examples, per step.
MeasuredStep with_accumulation(MeasuredStep step, int times);

// The slowest usual rate of Ethernet, in Gbit/s, with which the network takes at most kFewWaits of
// a step; 0: even the fastest does not.
double enough_gbits(const MeasuredStep& step, const LinkFigures& links, int nodes);
constexpr double kFewWaits = 0.05;

// A step of PyTorch's DistributedDataParallel of which only time and gradients are known: buckets
// of 25 MiB, complete at even intervals during backward, which takes two thirds of the step.
MeasuredStep step_of_ddp(double step_s, double gradient_bytes);

// Rows of word embeddings that `ranks` ranks use: several of them, and only one.
struct RowCounts {
  double shared = 0, alone = 0;
};
RowCounts expected_rows(const MeasuredStep& step, int ranks);

}  // namespace dtl
