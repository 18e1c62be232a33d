// The only file of the trainer that calls libdtring. It knows neither gradients nor files. check()
// turns the library's statuses into Errors.
#include "trainer/step/ranks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>

#include "base/text.h"

namespace dtl::trainer {
namespace {

// Tags label operations: libdtring fails if ranks use different tags for one. Gradients count up
// from 1 (buckets.cc); tags of other operations begin at 0xFFFF0000.
constexpr std::uint64_t kAbortTag = 0xFFFF0000;

// The library's text names rank and host; the status alone does not.
std::string last_error(dt_comm* communicator, int status) {
  std::array<char, 2048> text{};
  if (communicator && dt_last_error(communicator, text.data(), text.size()) == DT_OK && text[0]) {
    return text.data();
  }
  return dt_strerror(status);
}

// dtlaunch reads the exit status. kPeerFailed means that another rank has the cause.
Exit exit_status(int status) {
  switch (status) {
    case DT_E_AUTH:
      return Exit::kAuth;
    case DT_E_VERSION:
      return Exit::kVersion;
    case DT_E_ABORTED:
      return Exit::kPeerFailed;
    case DT_E_PEER:
    case DT_E_TIMEOUT:
      return Exit::kUnreachable;
    default:
      return Exit::kOs;
  }
}

// Throws Error(kUsage) for a bad value: dtlaunch sets these variables, so the user set this one.
int environment_number(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  if (!text) return otherwise;
  const auto number = parse_integer(text, 0, std::numeric_limits<int>::max());
  if (!number) {
    throw Error(Exit::kUsage, fmt::format("{}={}", name, text), "not a whole number",
                fmt::format("unset {}", name));
  }
  return static_cast<int>(*number);
}

}  // namespace

Ranks::Ranks(dt_comm* communicator)
    : communicator_(communicator),
      rank_(dt_comm_rank(communicator)),
      size_(dt_comm_size(communicator)) {}

Ranks Ranks::join() {
  if (environment_number("WORLD_SIZE", 1) <= 1) return Ranks();
  // The tuner may choose other algorithms, and so another order of sums, in each run. Equal runs
  // must be equal to the bit. Users who prefer speed set it to 1.
  ::setenv("DTRING_TUNE", "0", 0);
  dt_comm* communicator = nullptr;
  const int status = dt_comm_from_env(&communicator);
  // On failure there may be a communicator, only for the error text.
  if (status != DT_OK) {
    const std::unique_ptr<dt_comm, Destroy> owned(communicator);
    const std::string text = last_error(communicator, status);
    throw Error(exit_status(status),
                fmt::format("rank {}: cannot join the other ranks", environment_rank()), text);
  }
  return Ranks(communicator);
}

void Ranks::check(int status) {
  if (status == DT_OK) return;
  const std::string text = last_error(communicator_.get(), status);
  ended_by_peer_ = status == DT_E_ABORTED;
  throw Error(exit_status(status), fmt::format("rank {}", rank_), text);
}

void Ranks::broadcast(void* data, std::uint64_t bytes, std::uint64_t tag) {
  if (size_ == 1) return;
  dt_work work = 0;
  check(dt_broadcast(communicator_.get(), data, bytes, DT_U8, 0, tag, &work));
  wait(work);
}

dt_work Ranks::start_sum(float* data, std::uint64_t count, std::uint64_t tag, dt_wire wire) {
  if (size_ == 1) return 0;
  dt_work work = 0;
  check(dt_allreduce(communicator_.get(), data, data, count, DT_F32, DT_SUM, wire, tag, &work));
  return work;
}

dt_work Ranks::start_gather(const float* own, float* all, const std::vector<std::uint64_t>& counts,
                            std::uint64_t tag) {
  if (size_ == 1) {
    std::copy_n(own, counts.front(), all);
    return 0;
  }
  dt_work work = 0;
  check(dt_allgatherv(communicator_.get(), own, all, counts.data(), DT_F32, tag, &work));
  return work;
}

dt_work Ranks::start_gather(const std::uint64_t* own, std::uint64_t* all, std::uint64_t tag) {
  if (size_ == 1) {
    *all = *own;
    return 0;
  }
  dt_work work = 0;
  // The library only sees bits: DT_I64 has the right width.
  check(dt_allgather(communicator_.get(), own, all, 1, DT_I64, tag, &work));
  return work;
}

void Ranks::wait(dt_work work) {
  // -1: no timeout. libdtring detects lost peers by itself (DTRING_TIMEOUT).
  if (work != 0) check(dt_wait(communicator_.get(), work, -1));
}

std::vector<std::uint64_t> Ranks::gather(std::uint64_t value, std::uint64_t tag) {
  std::vector<std::uint64_t> values(static_cast<std::size_t>(size_));
  wait(start_gather(&value, values.data(), tag));
  return values;
}

void Ranks::barrier(std::uint64_t tag) {
  if (size_ == 1) return;
  dt_work work = 0;
  check(dt_barrier(communicator_.get(), tag, &work));
  wait(work);
}

// Without memory to show it in, nobody sees it.
void Ranks::show_progress(std::int64_t step, std::int64_t total_steps, std::int64_t tokens,
                          double loss) {
  (void)dt_progress(static_cast<std::uint64_t>(step), static_cast<std::uint64_t>(total_steps),
                    static_cast<std::uint64_t>(tokens), loss);
}

// Other ranks get DT_E_ABORTED with this text from the operation that they wait for.
void Ranks::abort(const Error& error) {
  if (communicator_) dt_comm_abort(communicator_.get(), error.what());
}

// The other ranks wait in a barrier that rank 0 never enters. Rank 0's abort ends it with
// DT_E_ABORTED, and they exit with kPeerFailed.
void Ranks::leave_it_to_first() {
  if (rank_ != 0) barrier(kAbortTag);
}

int environment_rank() {
  return environment_number("RANK", 0);
}

}  // namespace dtl::trainer
