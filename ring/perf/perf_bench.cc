// Filling and checking are not timed. Results' places and the bytes after the buffers are filled
// with poison, to detect results not written, or written beyond the end.
#include "ring/perf/perf_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "base/error.h"
#include "base/log.h"
#include "ring/perf/perf_values.h"

namespace dtl::ring {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::byte kPoison{0xa5};       // marks unwritten bytes
constexpr std::size_t kGuardBytes = 64;  // after each buffer
constexpr std::size_t kPageBytes = 4096;

// Not the mean: one scheduling delay would affect all iterations.
double median(std::vector<double> times) {
  const std::size_t half = times.size() / 2;
  std::sort(times.begin(), times.end());
  return times.size() % 2 == 1 ? times[half] : (times[half - 1] + times[half]) / 2;
}

std::string hex(const std::byte* data, std::size_t bytes) {
  std::string text = "0x";
  for (std::size_t i = bytes; i-- > 0;)
    text += fmt::format("{:02x}", std::to_integer<int>(data[i]));
  return text;
}

// Values cost more to make than to use, so they are kept while data type and reduction stay the
// same.
bool same_values(const Job& a, const Job& b) {
  const bool a_reduces = facts_of(a.collective).reduces, b_reduces = facts_of(b.collective).reduces;
  if (a.dtype != b.dtype || a_reduces != b_reduces) return false;
  return !a_reduces || (a.op == b.op && a.wire == b.wire);
}

}  // namespace

void PerfMemory::Free::operator()(std::byte* memory) const {
  if (comm != nullptr) {
    dt_free(comm, memory);
  } else {
    std::free(memory);
  }
}

std::byte* PerfBench::memory(PerfMemory& memory, std::size_t bytes) {
  if (memory.bytes >= bytes) return memory.data.get();
  // For the largest size at once, so that no measurement includes growing.
  const std::size_t most = std::max(bytes, options_.max_bytes + kGuardBytes);
  // Before allocating the next one: two of the largest size may not fit.
  memory.data.reset();
  memory.bytes = (most + kPageBytes - 1) / kPageBytes * kPageBytes;
  void* data = options_.alloc ? dt_alloc(comm_.get(), memory.bytes)
                              : std::aligned_alloc(kPageBytes, memory.bytes);
  if (data == nullptr) {
    throw Error(Exit::kOs, fmt::format("cannot allocate {} bytes", memory.bytes),
                options_.alloc ? "dt_alloc has none" : errno_text(ENOMEM));
  }
  memory.data = {static_cast<std::byte*>(data),
                 PerfMemory::Free{options_.alloc ? comm_.get() : nullptr}};
  std::memset(data, 0, memory.bytes);  // creates its pages before timing starts
  return memory.data.get();
}

void PerfBench::make_values(const Job& job) {
  if (!values_.sources.empty() && same_values(job, values_job_)) return;
  values_job_ = job;
  values_ = {};
  const std::size_t bytes = type_of(job.dtype).bytes;
  const bool reduces = facts_of(job.collective).reduces;
  const Reduction reduction{job.dtype, job.op, job.wire, comm_.world()};
  for (int rank = 0; rank < comm_.world(); ++rank) {
    values_.sources.emplace_back(bytes, [&](std::uint64_t x, std::byte* out) {
      if (reduces) return put_value(reduction, rank, x, out);
      put_bits(job.dtype, rank, x, out);
    });
  }
  if (!reduces) return;
  values_.reduced.emplace(bytes,
                          [&](std::uint64_t x, std::byte* out) { put_result(reduction, x, out); });
}

void PerfBench::fill(const Job& job, const Buffers& buffers, bool is_in_place) {
  const std::size_t element = type_of(job.dtype).bytes;
  const std::size_t in = in_count(job, comm_.world()) * element;
  const std::size_t out = out_count(job, comm_.world()) * element;
  std::memset(buffers.out, std::to_integer<int>(kPoison), out);
  if (reads_input(job, comm_.rank())) {
    own().write(buffers.in, 0, in_count(job, comm_.world()), turn_);
  }
  if (is_in_place) {
    std::memset(std::min(buffers.in, buffers.out) + std::max(in, out),
                std::to_integer<int>(kPoison), kGuardBytes);
  } else {
    std::memset(buffers.out + out, std::to_integer<int>(kPoison), kGuardBytes);
  }
}

double PerfBench::time_once(const Job& job, const Buffers& buffers) {
  std::vector<dt_work> works;
  works.reserve(2);
  comm_.barrier();
  const auto begin = Clock::now();
  const int status = start(comm_.get(), job, buffers, works);
  comm_.finish(status, works);
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

// Describes only the first wrong element: the others usually have the same cause.
void PerfBench::complain(const Job& job, const std::string& what) {
  if (own_wrong_ > 0) return;
  log_error(fmt::format("rank {}: {} of {} {}: {}", comm_.rank(), facts_of(job.collective).name,
                        job.count, type_of(job.dtype).name, what));
}

std::uint64_t PerfBench::check_piece(const Job& job, const Piece& piece, const std::byte* data,
                                     const char* buffer) {
  const Sequence& right = piece.source == Piece::kReduced
                              ? *values_.reduced
                              : values_.sources[static_cast<std::size_t>(piece.source)];
  const std::size_t bytes = type_of(job.dtype).bytes;
  const std::byte* begin = data + piece.at * bytes;
  std::uint64_t where = 0;
  const std::uint64_t wrong = right.count_wrong(begin, piece.first, piece.count, turn_, &where);
  if (wrong > 0) {
    complain(job,
             fmt::format("element {} of {} is {}, not {}; {} in a row of {} are wrong",
                         piece.at + where, buffer, hex(begin + where * bytes, bytes),
                         hex(right.at(piece.first + where, turn_), bytes), wrong, piece.count));
  }
  own_wrong_ += wrong;
  return wrong;
}

// Checks results, the input if it must not change, and the bytes after the buffer.
std::uint64_t PerfBench::check(const Job& job, const Buffers& buffers, bool is_in_place) {
  std::uint64_t wrong = 0;
  const auto pieces = expected(job, comm_.rank(), comm_.world());
  for (const Piece& piece : pieces) wrong += check_piece(job, piece, buffers.out, "out");
  const std::uint64_t in = in_count(job, comm_.world()), out = out_count(job, comm_.world());
  if (reads_input(job, comm_.rank()) && (!is_in_place || pieces.empty())) {
    wrong +=
        check_piece(job, {comm_.rank(), 0, 0, in}, buffers.in, "in, which is not for writing,");
  }
  const std::size_t element = type_of(job.dtype).bytes;
  const std::byte* guard = is_in_place
                               ? std::min(buffers.in, buffers.out) + std::max(in, out) * element
                               : buffers.out + out * element;
  if (std::any_of(guard, guard + kGuardBytes, [](std::byte byte) { return byte != kPoison; })) {
    complain(job, "something was written behind the buffer");
    ++wrong;
    ++own_wrong_;
  }
  return wrong;
}

// No rank may leave before all have arrived. In each round one rank is late: a second communicator
// holds it back until the others have checked whether they were released.
std::uint64_t PerfBench::check_barrier(const Job& job) {
  constexpr int kMostRounds = 8;
  constexpr auto kPatience = std::chrono::milliseconds(2);  // for a faulty barrier to release us
  if (comm_.world() == 1) return 0;
  PerfComm side = comm_.split();
  const int rounds = std::min(comm_.world(), kMostRounds);
  std::uint64_t early = 0;
  for (int round = 0; round < rounds; ++round) {
    const bool is_late = comm_.rank() == round * comm_.world() / rounds;
    if (is_late) side.barrier();
    dt_work work = 0;
    int status = dt_barrier(comm_.get(), 0, &work);
    if (!is_late) {
      std::this_thread::sleep_for(kPatience);
      if (status == DT_OK) status = dt_test(comm_.get(), work);
      side.barrier();
      if (status == DT_OK) ++early;
    }
    // An id that dt_test has reported is free and cannot be waited for again.
    if (is_late || status == DT_PENDING) comm_.finish(is_late ? status : DT_OK, {work});
    if (status < 0) comm_.finish(status, {});
  }
  if (early > 0) complain(job, "it was left before all ranks had come");
  own_wrong_ += early;
  return early;
}

PerfResult PerfBench::run(const Job& job, bool is_in_place) {
  const int world = comm_.world();
  const std::size_t element = type_of(job.dtype).bytes;
  const std::size_t in = in_count(job, world) * element + kGuardBytes;
  const std::size_t out = out_count(job, world) * element + kGuardBytes;
  Buffers buffers{};
  if (is_in_place) {
    buffers = in_place(job, memory(first_, std::max(in, out)), comm_.rank(), world);
  } else {
    buffers = {memory(first_, in), memory(second_, out)};
  }
  make_values(job);
  // A barrier has no values to check; whether it holds is tested once.
  const bool has_data = job.collective != Collective::kBarrier;
  std::vector<double> times;
  std::uint64_t wrong = options_.check && !has_data ? check_barrier(job) : 0;
  for (int i = -options_.warmups; i < options_.iterations; ++i) {
    const bool is_first = i == -options_.warmups;
    ++turn_;
    // Without checking the values do not matter, but memory must have been written.
    if (has_data && (options_.check || is_first)) fill(job, buffers, is_in_place);
    const double time = time_once(job, buffers);
    if (options_.check && has_data) wrong += check(job, buffers, is_in_place);
    if (i >= 0) times.push_back(time);
  }
  // By Average. -1: times are not combined; rank 0 reports its own.
  constexpr int kOpOf[] = {-1, DT_AVG, DT_MIN, DT_MAX};
  const int op = kOpOf[static_cast<int>(options_.average)];
  if (op >= 0) comm_.combine(times, op);
  const auto [least, most] = std::minmax_element(times.begin(), times.end());
  return {median(times), *least, *most, comm_.sum(wrong)};
}

}  // namespace dtl::ring
