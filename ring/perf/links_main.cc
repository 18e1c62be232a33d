// dtring-links: measures every link between the ranks of a job, in both directions, with libdtring.
// Started by dtlaunch with one rank on each host, by hand or from `dtlaunch doctor`.
//
// The pairs of n ranks are tried in n-1 rounds (n when n is odd) as in a tournament: in each round
// every rank has one partner, so that the pairs of a round do not share a host. The lower rank of a
// pair leads; both form a communicator of two, whose broadcasts go one way.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/host_matrix.h"
#include "base/log.h"
#include "ring/api/environment.h"
#include "ring/common/comm_error.h"
#include "ring/common/socket.h"
#include "ring/dtring.h"

namespace {

using dtl::ring::CommError;
using dtl::ring::EnvironmentOptions;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kChunkBytes = 1 << 20;
constexpr double kSecondsPerDirection = 0.1;
constexpr std::int64_t kMostChunks = 2048;
constexpr int kRoundTrips = 20;
constexpr int kPatience_ms = 10000;  // of forming a pair, and of one operation
constexpr std::size_t kNameBytes = 64;

struct CommDeleter {
  void operator()(dt_comm* comm) const { dt_comm_destroy(comm); }
};
using CommPtr = std::unique_ptr<dt_comm, CommDeleter>;

[[noreturn]] void fail(int status, dt_comm* comm, const std::string& what) {
  char text[1024] = {};
  if (comm != nullptr) dt_last_error(comm, text, sizeof text);
  throw CommError(status, what, text[0] != '\0' ? text : dt_strerror(status));
}

// Waits for an operation that `status` says was submitted.
void finish(dt_comm* comm, int status, dt_work work) {
  if (status == DT_OK) status = dt_wait(comm, work, -1);
  if (status != DT_OK) fail(status, comm, "cannot measure");
}

template <typename T>
std::vector<T> gather(dt_comm* comm, const std::vector<T>& own, int dtype) {
  const auto world = static_cast<std::size_t>(dt_comm_size(comm));
  std::vector<T> all(own.size() * world);
  dt_work work = 0;
  const int status = dt_allgather(comm, own.data(), all.data(), own.size(), dtype, 0, &work);
  finish(comm, status, work);
  return all;
}

std::vector<std::string> gather_texts(dt_comm* comm, std::string own) {
  own.resize(kNameBytes - 1);
  std::vector<std::uint8_t> bytes(own.begin(), own.end());
  bytes.push_back(0);
  const auto all = gather(comm, bytes, DT_U8);
  std::vector<std::string> texts;
  for (std::size_t at = 0; at < all.size(); at += kNameBytes) {
    texts.emplace_back(reinterpret_cast<const char*>(all.data() + at));
  }
  return texts;
}

void barrier(dt_comm* comm) {
  dt_work work = 0;
  const int status = dt_barrier(comm, 0, &work);
  finish(comm, status, work);
}

void send_chunks(dt_comm* comm, std::vector<std::uint8_t>& chunk, std::int64_t count, int root) {
  constexpr std::int64_t kAhead = 4;  // enough that the link never waits for us
  std::vector<dt_work> works;
  for (std::int64_t i = 0; i < count; ++i) {
    dt_work work = 0;
    const int status = dt_broadcast(comm, chunk.data(), chunk.size(), DT_U8, root, 0, &work);
    if (status != DT_OK) fail(status, comm, "cannot measure");
    works.push_back(work);
    if (i >= kAhead) finish(comm, DT_OK, works[static_cast<std::size_t>(i - kAhead)]);
  }
  const auto first = std::max<std::int64_t>(0, count - kAhead);
  for (auto i = first; i < count; ++i) finish(comm, DT_OK, works[static_cast<std::size_t>(i)]);
}

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double round_trip_us(dt_comm* pair) {
  std::vector<double> times;
  for (int i = 0; i < kRoundTrips; ++i) {
    const auto begin = Clock::now();
    barrier(pair);
    times.push_back(seconds_since(begin) * 1e6);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

// Gbit/s from rank `root` of a pair to the other.
double one_direction(dt_comm* pair, int root) {
  std::vector<std::uint8_t> chunk(kChunkBytes, 0x5a);
  barrier(pair);
  auto begin = Clock::now();
  send_chunks(pair, chunk, 2, root);
  barrier(pair);
  const double each = std::max(seconds_since(begin) / 2, 1e-6);
  std::int64_t count = std::clamp<std::int64_t>(
      static_cast<std::int64_t>(kSecondsPerDirection / each), 1, kMostChunks);
  dt_work work = 0;
  const int status = dt_broadcast(pair, &count, 1, DT_I64, 0, 0, &work);
  finish(pair, status, work);
  std::fill(chunk.begin(), chunk.end(), static_cast<std::uint8_t>(dt_comm_rank(pair)));
  barrier(pair);
  begin = Clock::now();
  send_chunks(pair, chunk, count, root);
  barrier(pair);
  const double seconds = seconds_since(begin);
  if (chunk.front() != root || chunk.back() != root) {
    throw CommError(DT_E_SYS, "cannot measure", "what arrived is not what was sent");
  }
  return static_cast<double>(count) * static_cast<double>(kChunkBytes) * 8 / seconds / 1e9;
}

class Links {
 public:
  explicit Links(const EnvironmentOptions& environment) : options_(environment.get()) {
    dt_comm* raw = nullptr;
    const int status = dt_comm_create(&options_, &raw);
    world_.reset(raw);
    if (status != DT_OK) fail(status, raw, "cannot join the other hosts");
    size_ = options_.world;
    const std::string own = options_.address == nullptr ? "" : options_.address;
    if (own.empty()) {
      throw CommError(DT_E_INVAL, "cannot measure links", "DTRING_ADDRESS is not set",
                      "run it under dtlaunch");
    }
    addresses_ = gather_texts(world_.get(), own);
    names_ = gather_texts(world_.get(), options_.host_name == nullptr ? "" : options_.host_name);
    rates_.assign(static_cast<std::size_t>(size_), -1);
    trips_.assign(static_cast<std::size_t>(size_), -1);
  }

  void measure() {
    const int slots = size_ + size_ % 2;  // with an odd number one rank rests in each round
    for (int round = 0; round < slots - 1; ++round) {
      const int partner = partner_of(options_.rank, round, slots);
      const std::int32_t port = free_port();
      const auto ports = gather(world_.get(), std::vector<std::int32_t>{port}, DT_I32);
      if (partner >= size_) continue;
      try {
        measure_pair(partner, ports[static_cast<std::size_t>(std::min(partner, options_.rank))],
                     round);
      } catch (const CommError& error) {
        dtl::log_error(fmt::format("{} with {}: {}",
                                   names_[static_cast<std::size_t>(options_.rank)],
                                   names_[static_cast<std::size_t>(partner)], error.what()));
      }
    }
  }

  // On every rank; rank 0 gets text.
  std::string result(bool raw) {
    const auto rates = gather(world_.get(), rates_, DT_F64);
    const auto trips = gather(world_.get(), trips_, DT_F64);
    if (options_.rank != 0) return {};
    const auto size = static_cast<std::size_t>(size_);
    std::vector<std::vector<double>> gbits(size, std::vector<double>(size, -1));
    std::string text;
    for (std::size_t to = 0; to < size; ++to) {
      for (std::size_t from = 0; from < size; ++from) {
        gbits[from][to] = rates[to * size + from];  // each rank knows what it received
        if (from == to) continue;
        text += fmt::format("link {} {} {:.3f} {:.1f}\n", from, to, gbits[from][to],
                            trips[to * size + from]);
      }
    }
    return raw ? text : dtl::link_table(names_, gbits);
  }

 private:
  // The circle method: the last slot stays, the others turn.
  static int partner_of(int rank, int round, int slots) {
    const int turning = slots - 1;
    if (rank == slots - 1) {
      for (int other = 0; other < turning; ++other) {
        if ((2 * other) % turning == round) return other;
      }
    }
    const int other = ((round - rank) % turning + turning) % turning;
    return other == rank ? slots - 1 : other;
  }

  std::int32_t free_port() const {
    const auto address =
        dtl::ring::resolve(addresses_[static_cast<std::size_t>(options_.rank)], 0).front();
    const dtl::Fd fd = dtl::ring::listen_on(address, 1);
    return dtl::ring::local_address(fd.get()).port();
  }

  void measure_pair(int partner, std::int32_t port, int round) {
    const int leader = std::min(partner, options_.rank);
    dt_options options = options_;
    options.world = 2;
    options.rank = options_.rank == leader ? 0 : 1;
    options.master_address = addresses_[static_cast<std::size_t>(leader)].c_str();
    options.master_port = port;
    options.job = options_.job + static_cast<std::uint64_t>(round + 1);
    options.connect_timeout_ms = kPatience_ms;
    options.operation_timeout_ms = kPatience_ms;
    dt_comm* raw = nullptr;
    const int status = dt_comm_create(&options, &raw);
    const CommPtr pair(raw);
    if (status != DT_OK) fail(status, raw, "cannot link up");
    const double trip = round_trip_us(raw);
    for (int root = 0; root < 2; ++root) {
      const double rate = one_direction(raw, root);
      if (root == options.rank) continue;
      rates_[static_cast<std::size_t>(partner)] = rate;
      trips_[static_cast<std::size_t>(partner)] = trip;
    }
  }

  dt_options options_;
  CommPtr world_;
  int size_ = 0;
  std::vector<std::string> addresses_, names_;
  std::vector<double> rates_, trips_;  // from each rank to this one
};

int run(bool raw) {
  const EnvironmentOptions environment;
  if (environment.get().world < 2) {
    std::puts("one host: there is no link to measure");
    return 0;
  }
  Links links(environment);
  links.measure();
  const std::string text = links.result(raw);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return std::fflush(stdout) == 0 ? 0 : static_cast<int>(dtl::Exit::kIo);
}

}  // namespace

int main(int argc, char** argv) {
  dtl::set_program_name("dtring-links");
  const std::string_view option = argc > 1 ? argv[1] : "";
  if (argc > 2 || (argc == 2 && option != "--raw")) {
    std::puts(
        "usage: dtlaunch -f hosts -ppn 1 dtring-links [--raw]\n"
        "Measures every link between the hosts, in both directions, with libdtring.\n"
        "  --raw  one line per link: link FROM TO GBIT/S ROUND-TRIP-US");
    return option == "--help" ? 0 : static_cast<int>(dtl::Exit::kUsage);
  }
  try {
    return run(option == "--raw");
  } catch (const CommError& error) {
    dtl::log_error(error.what());
  } catch (const std::exception& error) {
    dtl::log_error(error.what());
  }
  return static_cast<int>(dtl::Exit::kOs);
}
