#pragma once
// The time and arithmetic of a training step, and this machine's peak rate of matrix products. They
// show whether a run comes near what the hardware allows.
//
//   share of the peak     = flops / (forward_s + backward_s) / measure_gemm_peak(...)
//   share of time waiting = network_s / step_s

#include <chrono>

#include "trainer/families/model_config.h"
#include "trainer/layers/batch.h"
#include "trainer/maths/gemm.h"
#include "trainer/maths/thread_pool.h"

namespace dtl::trainer {

// For one optimizer step on this rank; wall-clock seconds.
struct StepWork {
  double flops = 0;       // of the layers' products, forward and backward: product_flops()
  double forward_s = 0;   // all micro-batches
  double backward_s = 0;  // all micro-batches; sums that run meanwhile cost no extra time
  // From the end of backward until the last sum is complete; with a joint loss also the gathering
  // of outputs, and the loss.
  double network_s = 0;
  double optimizer_s = 0;
  double early_optimizer_s = 0;  // of optimizer_s: before it waits for rows of word embeddings
  double step_s = 0;             // everything, including choosing examples and clearing gradients
};

// Floating-point operations (multiplication and addition count as two) of the layers' products on
// this batch, forward and backward. Leaves out the head: less than a thousandth. A classifier's
// last layer computes only first rows (layer.h).
double product_flops(const ModelConfig& config, const Batch& batch, int frozen_layers = 0);

// Operations per second for products of the layers' tile size, on all threads of the pool at once.
// Takes the best round of at most 50 ms in all (more below 3 GFLOP/s per thread).
double measure_gemm_peak(ThreadPool& pool, Precision precision);

class Stopwatch {
 public:
  // Seconds since the last lap() or construction.
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
