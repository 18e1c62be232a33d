// One rank of the allreduce benchmark over libdtring: verified in-place f32 sums, median time per
// size. Rank and peers come from the environment, as dtlaunch sets it.
// usage: allreduce_bench [--wire bf16] [--alloc] BYTES:REPEATS:TURNS...
// Rank 0 prints "BYTES MICROSECONDS" per size and turn (bench/gate.h), and "connect MICROSECONDS"
// first if bench/gate.h is in use.
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "bench/gate.h"
#include "ring/dtring.h"

namespace {

using Clock = std::chrono::steady_clock;

struct Choices {
  int wire = DT_WIRE_EXACT;
  bool alloc = false;
};

dt_comm* comm = nullptr;

void check(int status) {
  if (status == DT_OK) return;
  char text[1024] = "";
  dt_last_error(comm, text, sizeof text);
  std::fprintf(stderr, "allreduce_bench: %s: %s\n", dt_strerror(status), text);
  std::exit(1);
}

// Sums up to 256 are exact in bf16.
unsigned modulus(const Choices& choices, int world) {
  if (choices.wire == DT_WIRE_EXACT) return 1000;
  return static_cast<unsigned>(std::max(2, 256 / world));
}

class Buffer {
 public:
  Buffer(std::size_t bytes, const Choices& choices)
      : bytes_(bytes), count_(bytes / sizeof(float)), alloc_(choices.alloc) {
    void* memory =
        alloc_ ? dt_alloc(comm, bytes)
               : ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == nullptr || memory == MAP_FAILED) {
      std::fprintf(stderr, "allreduce_bench: no memory for %zu bytes\n", bytes);
      std::exit(1);
    }
    data_ = static_cast<float*>(memory);
    mod_ = modulus(choices, dt_comm_size(comm));
  }
  ~Buffer() {
    if (alloc_) {
      dt_free(comm, data_);
    } else {
      ::munmap(data_, bytes_);
    }
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  float* data() { return data_; }
  std::size_t count() const { return count_; }

  void fill() {
    const auto rank = static_cast<unsigned>(dt_comm_rank(comm));
    for (std::size_t i = 0; i < count_; ++i) data_[i] = input(rank, i);
  }
  void verify() const {
    const auto world = static_cast<unsigned>(dt_comm_size(comm));
    for (std::size_t i = 0; i < count_; ++i) {
      float sum = 0;
      for (unsigned rank = 0; rank < world; ++rank) sum += input(rank, i);
      if (data_[i] == sum) continue;
      std::fprintf(stderr, "allreduce_bench: wrong sum at %zu of %zu\n", i, count_);
      std::exit(1);
    }
  }

 private:
  float input(unsigned rank, std::size_t i) const {
    return static_cast<float>((static_cast<unsigned>(i) + rank) % mod_);
  }

  std::size_t bytes_, count_;
  bool alloc_;
  float* data_;
  unsigned mod_;
};

void barrier() {
  dt_work work = 0;
  check(dt_barrier(comm, 0, &work));
  check(dt_wait(comm, work, -1));
}

double time_once(Buffer& values, int wire) {
  dt_work work = 0;
  barrier();
  const auto start = Clock::now();
  check(dt_allreduce(comm, values.data(), values.data(), values.count(), DT_F32, DT_SUM, wire, 1,
                     &work));
  check(dt_wait(comm, work, -1));
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

double median_time(Buffer& values, int repeats, const Choices& choices) {
  std::vector<double> times;
  for (int i = -2; i < repeats; ++i) {  // two warm-up rounds
    values.fill();
    const double time = time_once(values, choices.wire);
    values.verify();
    if (i >= 0) times.push_back(time);
  }
  std::nth_element(times.begin(), times.begin() + repeats / 2, times.end());
  return times[static_cast<std::size_t>(repeats / 2)];
}

void take_turns(std::size_t bytes, int repeats, int turns, const Choices& choices) {
  static std::uint32_t taken = 0;
  Buffer values(bytes, choices);
  for (int i = 0; i < turns; ++i, ++taken) {
    gate_turn(taken);
    const double time = median_time(values, repeats, choices);
    if (dt_comm_rank(comm) != 0) continue;
    std::printf("%zu %.2f\n", bytes, time);
    gate_turn_over(taken);
  }
}

void connect() {
  gate_wait();
  check(dt_comm_from_env(&comm));
  barrier();
  if (dt_comm_rank(comm) == 0 && std::getenv("BENCH_GATE") != nullptr) {
    std::printf("connect %.1f\n", gate_elapsed_us());
  }
}

}  // namespace

int main(int argc, char** argv) {
  Choices choices;
  const long before = gate_resident();
  connect();
  const long connected = gate_resident();
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "--alloc") {
      choices.alloc = true;
      continue;
    }
    if (word == "--wire" && i + 1 < argc) {
      choices.wire = std::string_view(argv[++i]) == "bf16" ? DT_WIRE_BF16 : DT_WIRE_EXACT;
      continue;
    }
    unsigned long long bytes = 0;
    int repeats = 0, turns = 0;
    if (std::sscanf(argv[i], "%llu:%d:%d", &bytes, &repeats, &turns) != 3 ||
        bytes < sizeof(float) || repeats < 1) {
      std::fprintf(stderr,
                   "usage: allreduce_bench [--wire bf16] [--alloc] BYTES:REPEATS:TURNS...\n");
      return 64;
    }
    take_turns(bytes, repeats, turns, choices);
  }
  gate_result(before, connected, gate_resident());
  return dt_comm_destroy(comm) == DT_OK ? 0 : 1;
}
