// One rank of the allreduce benchmark over libdtring: for each size the median time of in-place f32
// sums, every result verified. Rank and peers come from the environment, as dtlaunch sets it.
// usage: allreduce_bench BYTES:REPEATS...      prints "BYTES MICROSECONDS" per size on rank 0
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "ring/dtring.h"

namespace {

using Clock = std::chrono::steady_clock;

dt_comm* comm = nullptr;

void check(int status) {
  if (status == DT_OK) return;
  char text[1024] = "";
  dt_last_error(comm, text, sizeof text);
  std::fprintf(stderr, "allreduce_bench: %s: %s\n", dt_strerror(status), text);
  std::exit(1);
}

float input(int rank, std::size_t i) {
  return static_cast<float>((i + static_cast<std::size_t>(rank)) % 1000);
}

void verify(const std::vector<float>& values, int world) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    float sum = 0;
    for (int rank = 0; rank < world; ++rank) sum += input(rank, i);
    if (values[i] == sum) continue;
    std::fprintf(stderr, "allreduce_bench: wrong sum at %zu of %zu\n", i, values.size());
    std::exit(1);
  }
}

double time_once(std::vector<float>& values) {
  dt_work work = 0;
  check(dt_barrier(comm, 0, &work));
  check(dt_wait(comm, work, -1));
  const auto start = Clock::now();
  check(dt_allreduce(comm, values.data(), values.data(), values.size(), DT_F32, DT_SUM, 1, &work));
  check(dt_wait(comm, work, -1));
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

double median_time(std::size_t bytes, int repeats) {
  const int rank = dt_comm_rank(comm), world = dt_comm_size(comm);
  std::vector<float> values(bytes / sizeof(float));
  std::vector<double> times;
  for (int i = -2; i < repeats; ++i) {  // two to warm up
    for (std::size_t k = 0; k < values.size(); ++k) values[k] = input(rank, k);
    const double time = time_once(values);
    verify(values, world);
    if (i >= 0) times.push_back(time);
  }
  std::nth_element(times.begin(), times.begin() + repeats / 2, times.end());
  return times[static_cast<std::size_t>(repeats / 2)];
}

}  // namespace

int main(int argc, char** argv) {
  check(dt_comm_from_env(&comm));
  for (int i = 1; i < argc; ++i) {
    char* rest = nullptr;
    const std::size_t bytes = std::strtoull(argv[i], &rest, 10);
    const int repeats = *rest == ':' ? std::atoi(rest + 1) : 0;
    if (bytes < sizeof(float) || repeats < 1) {
      std::fprintf(stderr, "usage: allreduce_bench BYTES:REPEATS...\n");
      return 64;
    }
    const double time = median_time(bytes, repeats);
    if (dt_comm_rank(comm) == 0) std::printf("%zu %.1f\n", bytes, time);
  }
  return dt_comm_destroy(comm) == DT_OK ? 0 : 1;
}
