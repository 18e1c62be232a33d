// The pairs of n ranks are measured in n-1 rounds (n if n is odd) as in a tournament: in each round
// every rank has one partner, so that no two pairs share a host. The lower rank of a pair leads;
// both form a communicator of two, whose broadcasts go in one direction. A pair that fails is
// reported and left out: the others are still useful.
#include "ring/perf/perf_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <deque>
#include <vector>

#include "base/error.h"
#include "base/host_matrix.h"
#include "base/log.h"
#include "ring/api/environment.h"
#include "ring/common/comm_error.h"
#include "ring/common/socket.h"
#include "ring/perf/perf_comm.h"

namespace dtl::ring {
namespace {

using LinkClock = std::chrono::steady_clock;

constexpr std::uint64_t kChunkBytes = 1 << 20;
constexpr double kSecondsPerDirection = 0.1;
constexpr std::int64_t kMostChunks = 2048;
constexpr int kRoundTrips = 20;
constexpr int kPatience_ms = 10000;  // for forming a pair, and for one operation

double seconds_since(LinkClock::time_point begin) {
  return std::chrono::duration<double>(LinkClock::now() - begin).count();
}

void send_chunks(PerfComm& pair, std::vector<std::uint8_t>& chunk, std::int64_t count, int root) {
  constexpr std::size_t kAhead = 4;  // enough to keep the link busy
  std::deque<dt_work> works;
  for (std::int64_t i = 0; i < count; ++i) {
    dt_work work = 0;
    const int status = dt_broadcast(pair.get(), chunk.data(), chunk.size(), DT_U8, root, 0, &work);
    if (status != DT_OK) pair.finish(status, {});
    works.push_back(work);
    if (works.size() <= kAhead) continue;
    pair.finish(DT_OK, {works.front()});
    works.pop_front();
  }
  pair.finish(DT_OK, {works.begin(), works.end()});
}

double round_trip_us(PerfComm& pair) {
  std::vector<double> times;
  for (int i = 0; i < kRoundTrips; ++i) {
    const auto begin = LinkClock::now();
    pair.barrier();
    times.push_back(seconds_since(begin) * 1e6);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

// Seconds for `count` chunks from rank `root` of a pair to the other.
double time_chunks(PerfComm& pair, std::vector<std::uint8_t>& chunk, std::int64_t count, int root) {
  pair.barrier();
  const auto begin = LinkClock::now();
  send_chunks(pair, chunk, count, root);
  pair.barrier();
  return seconds_since(begin);
}

double processor_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

struct LinkRate {
  double gbits = -1;
  double cpu_ns = -1;  // CPU time of this rank for each byte
};

// From rank `root` of a pair to the other.
LinkRate one_direction(PerfComm& pair, int root) {
  std::vector<std::uint8_t> chunk(kChunkBytes, 0x5a);
  // Two chunks first, to find out how many fill the time.
  std::vector<double> each = {std::max(time_chunks(pair, chunk, 2, root) / 2, 1e-6)};
  pair.combine(each, DT_MAX);  // both must send the same number of chunks
  const auto count = std::clamp<std::int64_t>(
      static_cast<std::int64_t>(kSecondsPerDirection / each[0]), 1, kMostChunks);
  std::fill(chunk.begin(), chunk.end(), static_cast<std::uint8_t>(pair.rank()));
  const double before = processor_seconds();
  const double seconds = time_chunks(pair, chunk, count, root);
  const double used = processor_seconds() - before;
  if (chunk.front() != root || chunk.back() != root) {
    throw CommError(DT_E_SYS, "cannot measure", "what arrived is not what was sent");
  }
  const double bytes = static_cast<double>(count) * static_cast<double>(kChunkBytes);
  return {bytes * 8 / seconds / 1e9, used / bytes * 1e9};
}

// The circle method: the last slot stays, the others rotate.
int partner_of(int rank, int round, int slots) {
  const int turning = slots - 1;
  if (rank == slots - 1) {
    for (int other = 0; other < turning; ++other) {
      if ((2 * other) % turning == round) return other;
    }
  }
  const int other = ((round - rank) % turning + turning) % turning;
  return other == rank ? slots - 1 : other;
}

class LinkMeter {
 public:
  explicit LinkMeter(const dt_options& options)
      : options_(options),
        world_(PerfComm::create(options, "cannot join the other ranks")),
        size_(static_cast<std::size_t>(world_.world())),
        rates_(size_ * size_, -1),
        trips_(size_ * size_, -1),
        sending_(size_ * size_, -1),
        receiving_(size_ * size_, -1) {
    if (options.address == nullptr || *options.address == '\0') {
      throw CommError(DT_E_INVAL, "cannot measure links", "DTRING_ADDRESS is not set",
                      "dtlaunch -f HOSTFILE -ppn 1 dtring-perf --links");
    }
    addresses_ = world_.gather(options.address);
    names_ = world_.gather(options.host_name == nullptr ? "" : options.host_name);
  }

  void measure() {
    const int world = world_.world(), rank = world_.rank();
    const int slots = world + world % 2;  // if the number is odd, one rank pauses in each round
    for (int round = 0; round < slots - 1; ++round) {
      const int partner = partner_of(rank, round, slots);
      std::vector<double> ports(size_, 0);
      // On every rank, since all take part in combine(). Another program may take the port before
      // the pair connects; then the pair fails and reports that.
      ports[static_cast<std::size_t>(rank)] = free_port();
      world_.combine(ports, DT_MAX);
      if (partner >= world) continue;
      const auto leader = static_cast<std::size_t>(std::min(partner, rank));
      try {
        measure_pair(static_cast<std::size_t>(partner), leader, static_cast<int>(ports[leader]),
                     round);
      } catch (const Error& error) {
        log_error(fmt::format("{} with {}: {}", names_[static_cast<std::size_t>(rank)],
                              names_[static_cast<std::size_t>(partner)], error.what()));
      }
    }
    world_.combine(rates_, DT_MAX);  // each rank knows its received rates
    world_.combine(trips_, DT_MAX);
    world_.combine(sending_, DT_MAX);
    world_.combine(receiving_, DT_MAX);
  }

  std::string result(bool raw) const {
    if (world_.rank() != 0) return {};
    std::vector<std::vector<double>> gbits;
    std::string lines;
    for (std::size_t from = 0; from < size_; ++from) {
      const auto row = rates_.begin() + static_cast<std::ptrdiff_t>(from * size_);
      gbits.emplace_back(row, row + static_cast<std::ptrdiff_t>(size_));
      for (std::size_t to = 0; to < size_; ++to) {
        if (from == to) continue;
        const std::size_t link = from * size_ + to;
        const bool known = sending_[link] >= 0 && receiving_[link] >= 0;
        lines += fmt::format("link {} {} {:.3f} {:.1f} {:.3f}\n", from, to, gbits[from][to],
                             trips_[link], known ? sending_[link] + receiving_[link] : -1);
      }
    }
    return raw ? lines : link_table(names_, gbits);
  }

 private:
  int free_port() const {
    const auto address = resolve(options_.address, 0).front();
    const Fd fd = listen_on(address, 1);
    return local_address(fd.get()).port();
  }

  void measure_pair(std::size_t partner, std::size_t leader, int port, int round) {
    dt_options options = options_;
    options.world = 2;
    options.rank = static_cast<std::size_t>(world_.rank()) == leader ? 0 : 1;
    options.master_address = addresses_[leader].c_str();
    options.master_port = port;
    // Another number in each round, so that a late rank is not mistaken for a member of the next
    // round.
    options.job = options_.job + static_cast<std::uint64_t>(round + 1);
    options.connect_timeout_ms = kPatience_ms;
    options.operation_timeout_ms = kPatience_ms;
    PerfComm pair = PerfComm::create(options, "cannot link up");
    const double trip = round_trip_us(pair);
    for (int root = 0; root < 2; ++root) {
      const LinkRate rate = one_direction(pair, root);
      const auto own = static_cast<std::size_t>(world_.rank());
      if (root == options.rank) {
        sending_[own * size_ + partner] = rate.cpu_ns;
        continue;
      }
      // The receiver records the rate: its clock stops when the bytes have arrived.
      const std::size_t link = partner * size_ + own;
      receiving_[link] = rate.cpu_ns;
      rates_[link] = rate.gbits;
      trips_[link] = trip;
    }
  }

  const dt_options options_;
  PerfComm world_;
  std::size_t size_ = 0;
  std::vector<std::string> addresses_, names_;
  // from * size + to; -1: not measured
  std::vector<double> rates_, trips_, sending_, receiving_;
};

}  // namespace

std::string measure_links(bool raw) {
  const EnvironmentOptions environment;
  if (environment.get().world < 2) return "one host: there is no link to measure\n";
  LinkMeter links(environment.get());
  links.measure();
  return links.result(raw);
}

}  // namespace dtl::ring
