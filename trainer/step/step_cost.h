#pragma once
// Where the time of a training step goes, how much arithmetic its products are, and how fast this
// machine multiplies at best: a user sees from these whether a run is near what the hardware gives.
//
//   share of the peak     = flops / (forward_s + backward_s) / measure_gemm_peak(...)
//   share of time waiting = network_s / step_s

#include <chrono>

#include "trainer/files/model_config.h"
#include "trainer/maths/gemm.h"
#include "trainer/maths/thread_pool.h"
#include "trainer/model/batch.h"

namespace dtl::trainer {

// Of one optimizer step on this rank; seconds of wall-clock time.
struct StepWork {
  double flops = 0;       // of the layers' products, forward and backward: product_flops()
  double forward_s = 0;   // all micro-batches
  double backward_s = 0;  // the same; what the sums do meanwhile costs no time of its own
  double network_s = 0;   // from the end of backward until the last sum is there
  double optimizer_s = 0;
  double step_s = 0;  // everything, the choice of examples and clearing of gradients included
};

// Floating-point operations (a multiplication and an addition are two) of the products in the
// layers on this batch, forward and backward, without the head's: they are less than a thousandth.
// A classifier's last layer computes only first rows (layer.h).
double product_flops(const ModelConfig& config, const Batch& batch);

// Operations per second of products of the layers' tile size, on all threads of the pool at once:
// the best round of at most 50 ms (a machine below 3 GFLOP/s per thread takes longer).
double measure_gemm_peak(ThreadPool& pool, Precision precision);

class Stopwatch {
 public:
  // Seconds since the last lap or the beginning.
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const double seconds = std::chrono::duration<double>(now - last_).count();
    last_ = now;
    return seconds;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace dtl::trainer
