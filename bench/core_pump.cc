// The upper limit for two cores of one host: sums of two tensors in memory that both cores reach,
// with nothing else but the flags that tell each core what the other has written.
// usage: core_pump place|copy BYTES:REPEATS:TURNS...
//        core_pump trip
// place: each core reads and writes the other's tensor in place, as with dt_alloc.
// copy: the tensors are private, so inputs and results are copied between the cores.
// trip: the latency between the cores, which may change while a virtual machine runs: prints the
// nanoseconds that two cores take to show each other a flag.
// Prints the median as "BYTES MICROSECONDS" per size and turn (bench/gate.h). Every result is
// verified.
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string_view>
#include <thread>
#include <vector>

#include "bench/gate.h"
#include "ring/arithmetic/reduce.h"

namespace {

using Clock = std::chrono::steady_clock;
using dtl::ring::Operand;

constexpr std::size_t kChunk = 32 << 10, kSlots = 8, kBlock = 8 << 10;  // bytes

std::byte* memory(std::size_t bytes) {
  void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) std::exit(1);
  return static_cast<std::byte*>(data);
}

// Only increases; has its own cache line.
struct alignas(64) Flag {
  std::atomic<std::size_t> value{0};
  void raise() { value.fetch_add(1, std::memory_order_release); }
  std::size_t read() const { return value.load(std::memory_order_acquire); }
};

struct Side {
  Flag at_gate, given, answered;
  std::byte* tensor = nullptr;
  std::byte* slots = nullptr;
  std::size_t turns = 0;
};
Side sides[2];

void meet(Side& mine, const Side& theirs) {
  mine.at_gate.raise();
  ++mine.turns;
  while (theirs.at_gate.read() < mine.turns) {
  }
}

// own += others; others = own.
void add_both(std::byte* own, std::byte* others, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += kBlock) {
    const std::size_t part = std::min(kBlock, bytes - at);
    const Operand operands[2] = {{own + at}, {others + at}};
    dtl::ring::combine(DT_F32, DT_SUM, own + at, operands, 2, part / sizeof(float));
    std::memcpy(others + at, own + at, part);
  }
}

void sum_in_place(Side& mine, Side& theirs, std::size_t own, std::size_t half) {
  meet(mine, theirs);
  add_both(mine.tensor + own, theirs.tensor + own, half);
  meet(mine, theirs);
}

void sum_by_copies(Side& mine, Side& theirs, std::size_t own, std::size_t half) {
  const std::size_t other = half - own, chunks = (half + kChunk - 1) / kChunk;
  const std::size_t before = mine.given.read();  // equal on both sides
  const auto bytes_of = [&](std::size_t chunk) { return std::min(kChunk, half - chunk * kChunk); };
  const auto slot = [](Side& side, std::size_t chunk) {
    return side.slots + chunk % kSlots * kChunk;
  };
  for (std::size_t given = 0, added = 0, back = 0; added < chunks || back < chunks;) {
    if (given < chunks && given - back < kSlots) {
      std::memcpy(slot(mine, given), mine.tensor + other + given * kChunk, bytes_of(given));
      mine.given.raise();
      ++given;
    }
    if (added < chunks && theirs.given.read() > before + added) {
      add_both(mine.tensor + own + added * kChunk, slot(theirs, added), bytes_of(added));
      mine.answered.raise();
      ++added;
    }
    if (back < given && theirs.answered.read() > before + back) {
      std::memcpy(mine.tensor + other + back * kChunk, slot(mine, back), bytes_of(back));
      ++back;
    }
  }
}

void pin(int index) {
  cpu_set_t allowed, one;
  CPU_ZERO(&one);
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed) || index-- > 0) continue;
    CPU_SET(cpu, &one);
    ::sched_setaffinity(0, sizeof one, &one);
    return;
  }
}

double median_time(int me, bool copies, std::size_t bytes, int repeats) {
  Side &mine = sides[me], &theirs = sides[1 - me];
  const std::size_t half = bytes / 2, own = me == 0 ? 0 : half;
  auto* values = reinterpret_cast<float*>(mine.tensor);
  std::vector<double> times;
  for (int i = -2; i < repeats; ++i) {  // two warm-up rounds
    const auto value_of = [](std::size_t k, int side) {
      return static_cast<float>((k + static_cast<std::size_t>(side)) % 1000);
    };
    for (std::size_t k = 0; k < bytes / sizeof(float); ++k) values[k] = value_of(k, me);
    meet(mine, theirs);
    const auto start = Clock::now();
    (copies ? sum_by_copies : sum_in_place)(mine, theirs, own, half);
    const std::chrono::duration<double, std::micro> time = Clock::now() - start;
    for (std::size_t k = 0; k < bytes / sizeof(float); ++k) {
      if (values[k] == value_of(k, 0) + value_of(k, 1)) continue;
      std::fprintf(stderr, "core_pump: wrong sum at %zu of %zu bytes\n", k, bytes);
      std::exit(1);
    }
    meet(mine, theirs);
    if (i >= 0) times.push_back(time.count());
  }
  std::nth_element(times.begin(), times.begin() + repeats / 2, times.end());
  return times[static_cast<std::size_t>(repeats / 2)];
}

struct Wish {
  std::size_t bytes;
  int repeats, turns;
};

void take_turns(int me, bool copies, const std::vector<Wish>& wishes) {
  pin(me);
  std::uint32_t taken = 0;
  for (const Wish& wish : wishes) {
    for (int i = 0; i < wish.turns; ++i, ++taken) {
      gate_turn(taken);
      const double time = median_time(me, copies, wish.bytes, wish.repeats);
      if (me != 0) continue;
      std::printf("%zu %.1f\n", wish.bytes, time);
      gate_turn_over(taken);
    }
  }
}

int measure_trip() {
  constexpr int kTrips = 400, kTimes = 9;
  std::vector<double> times;
  const auto run = [&](int me) {
    pin(me);
    for (int i = 0; i < kTimes; ++i) {
      const auto start = Clock::now();
      for (int trip = 0; trip < kTrips; ++trip) meet(sides[me], sides[1 - me]);
      const std::chrono::duration<double, std::nano> time = Clock::now() - start;
      if (me == 0) times.push_back(time.count() / kTrips);
    }
  };
  std::thread other(run, 1);
  run(0);
  other.join();
  std::nth_element(times.begin(), times.begin() + kTimes / 2, times.end());
  std::printf("%.0f\n", times[kTimes / 2]);
  return 0;
}

int usage() {
  std::fprintf(stderr,
               "usage: core_pump place|copy BYTES:REPEATS:TURNS...\n       core_pump trip\n");
  return 64;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view how = argc > 1 ? argv[1] : "";
  if (how == "trip") return measure_trip();
  if (argc < 3) return usage();
  if (how != "place" && how != "copy") return usage();
  std::vector<Wish> wishes;
  std::size_t most = 0;
  for (int i = 2; i < argc; ++i) {
    unsigned long long bytes = 0;
    int repeats = 0, turns = 0;
    if (std::sscanf(argv[i], "%llu:%d:%d", &bytes, &repeats, &turns) != 3 || repeats < 1 ||
        bytes % 128 != 0) {
      return usage();
    }
    wishes.push_back({bytes, repeats, turns});
    most = std::max<std::size_t>(most, bytes);
  }
  for (Side& side : sides) {
    side.tensor = memory(most);
    side.slots = memory(kSlots * kChunk);
  }
  std::thread other(take_turns, 1, how == "copy", std::cref(wishes));
  take_turns(0, how == "copy", wishes);
  other.join();
  return 0;
}
