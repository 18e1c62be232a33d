#include "ring/api/comm.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <exception>

#include "base/host_name.h"
#include "base/random.h"
#include "ring/arithmetic/reduce.h"
#include "ring/common/comm_error.h"
#include "ring/meeting/rendezvous.h"
#include "ring/meeting/stream_count.h"
#include "ring/operation/schedule.h"

namespace dtl::ring {
namespace {

constexpr int kMaxWorld = 65535;
constexpr int kMaxLocal = 1024;
constexpr std::uint64_t kDeterministicShort = 32 << 10;
constexpr std::uint64_t kLong = 1 << 20;  // bytes that are worth waking a thread for at once

std::string name_of_host(const char* given) {
  return given != nullptr && given[0] != '\0' ? std::string(given).substr(0, 255) : own_host_name();
}

void check(const dt_options& options) {
  const auto reject = [](const std::string& reason) {
    throw CommError(DT_E_INVAL, "cannot create a communicator", reason);
  };
  if (options.master_address == nullptr || options.master_address[0] == '\0') {
    reject("there is no master address");
  }
  if (options.master_port < 1 || options.master_port > 65535) {
    reject(fmt::format("master port {} is not in 1..65535", options.master_port));
  }
  if (options.connect_timeout_ms < 1 || options.operation_timeout_ms < 1 ||
      options.warn_timeout_ms < 1) {
    reject("a time-out is not positive");
  }
  if (options.secret == nullptr || options.secret_bytes < kSecretBytes) {
    throw CommError(DT_E_AUTH, "cannot create a communicator",
                    fmt::format("a secret of at least {} bytes is needed for more than one rank",
                                kSecretBytes));
  }
}

}  // namespace

Comm::Comm(int rank, int world, const Tuning& tuning)
    : rank_(rank), world_(world), tuning_(tuning), pid_(::getpid()), queue_(rank, world) {
  map_ = NodeMap::from_keys(rank, std::vector<std::string>(static_cast<std::size_t>(world)));
}

Comm::~Comm() {
  queue_.request_stop();
  if (engine_) {
    engine_->note_order();
    engine_->join();
  }
  queue_.fail(DT_E_ABORTED, "the communicator was destroyed");
  queue_.wait_until_unused();
  engine_.reset();
  for (void* memory : heap_) std::free(memory);
}

void Comm::connect(const dt_options& options) {
  if (world_ == 1) return;
  check(options);
  Identity identity{
      options.job, world_, rank_, {options.secret, options.secret + options.secret_bytes}};
  const struct Wiper {
    Identity& identity;
    ~Wiper() { Key::wipe(identity.secret.data(), identity.secret.size()); }
  } wiper{identity};
  constexpr std::string_view kInfo = "dtl2 parts";
  part_secret_ = hkdf_sha256(identity.secret, {},
                             {reinterpret_cast<const std::uint8_t*>(kInfo.data()), kInfo.size()});
  meet_others(identity, options, Fd());
}

void Comm::meet_others(const Identity& identity, const dt_options& options, Fd listener) {
  host_name_ = name_of_host(options.host_name);
  job_ = options.job;
  connect_timeout_ms_ = options.connect_timeout_ms;
  operation_timeout_ms_ = options.operation_timeout_ms;
  warn_timeout_ms_ = options.warn_timeout_ms;
  warn_ = options.warn;
  warn_context_ = options.warn_context;
  MeetingPlace place;
  place.master_address = options.master_address;
  place.master_port = options.master_port;
  place.host_name = host_name_;
  place.timeout_ms = options.connect_timeout_ms;
  place.own_address = options.address == nullptr ? "" : options.address;
  place.listener = std::move(listener);
  if (tuning_.node != "none") {
    try {
      memory_ = std::make_unique<ShmNode>(std::min(world_, kMaxLocal));
      place.node = tuning_.node + node_key();
      place.share = memory_->address();
    } catch (const CommError& error) {
      memory_note_ = error.what();
      memory_.reset();
    }
  }
  place.memory = memory_.get();
  const char* const given = options.allreduce;
  place.settings.streams = static_cast<std::uint32_t>(
      options.streams > 0 ? options.streams : streams_of(place.own_address));
  place.settings.wire =
      static_cast<std::uint32_t>(options.wire == DT_WIRE_DEFAULT ? DT_WIRE_EXACT : options.wire);
  place.settings.flags = options.flags;
  place.settings.tunes = tuning_.tunes && given == nullptr ? 1 : 0;
  place.settings.allreduce = given == nullptr ? "" : given;
  AlgorithmTable::parse(place.settings.allreduce, table_);  // a mistake is told before the meeting
  Links links = meet(identity, std::move(place));
  settings_ = links.settings;
  map_ = links.map;
  own_address_ = links.own_address;
  if (memory_note_.empty()) memory_note_ = links.warning;
  if (!links.warning.empty() && warn_ != nullptr) {
    warn_(fmt::format("ranks of one node are connected by TCP: {}", links.warning).c_str(),
          warn_context_);
  }
  table_ = AlgorithmTable::parse(settings_.allreduce,
                                 AlgorithmTable::by_default(world_, map_.nodes.size()));
  Engine::Settings settings;
  settings.rank = rank_;
  settings.world = world_;
  settings.operation_timeout = std::chrono::milliseconds(options.operation_timeout_ms);
  settings.warn_timeout = std::chrono::milliseconds(options.warn_timeout_ms);
  settings.warn = warn_;
  settings.warn_context = warn_context_;
  settings.cpus = tuning_.cpus;
  choose_spinning(settings);
  engine_ = std::make_unique<Engine>(settings, std::move(links), memory_.get(), queue_);
  if (settings_.tunes != 0) {
    try {
      measure();
    } catch (const CommError&) {
      return;  // the ranks have met; what has gone wrong since then is for the first operation
    }
  }
  if (tuning_.is_verbose && rank_ == 0) say_how();
}

void Comm::say_how() const {
  const std::string line =
      fmt::format("dtring: {} ranks on {} {}{}, {} {} to each peer, {} wire, allreduce {} ({})\n",
                  world_, map_.nodes.size(), map_.nodes.size() == 1 ? "host" : "hosts",
                  map_.has_several_per_node() ? " with shared memory" : "", settings_.streams,
                  settings_.streams == 1 ? "stream" : "streams", wire_name(settings_.wire),
                  table_.text(), settings_.tunes != 0 ? "measured" : "as given");
  (void)!::write(STDERR_FILENO, line.data(), line.size());
}

// Waking a thread on an idle core takes longer than a short operation does, so threads look for a
// while before they sleep; unless there is no core for that.
void Comm::choose_spinning(Engine::Settings& settings) {
  constexpr auto kLong = std::chrono::microseconds(100), kShort = std::chrono::microseconds(50);
  cpu_set_t cpus;
  const bool is_single = ::sched_getaffinity(0, sizeof cpus, &cpus) == 0 && CPU_COUNT(&cpus) == 1 &&
                         tuning_.cpus.empty();
  if (memory_ != nullptr && map_.has_several_per_node() && memory_->is_crowded()) return;
  settings.active_spin = is_single ? kShort : kLong;
  if (is_single) return;  // the communication thread could not run meanwhile
  queue_.set_spin_time(kLong);
}

int Comm::submit(Request request, int wire, dt_work* work) {
  const bool is_deterministic = (settings_.flags & DT_DETERMINISTIC) != 0;
  const bool can_travel = request.dtype == DT_F32 && (request.op == DT_SUM || request.op == DT_AVG);
  if (wire == DT_WIRE_DEFAULT) wire = static_cast<int>(settings_.wire);
  const bool is_sum =
      request.opcode == Opcode::kAllreduce || request.opcode == Opcode::kReduceScatter;
  request.wire =
      is_sum && can_travel && wire > DT_WIRE_EXACT ? static_cast<Wire>(wire) : Wire::kExact;
  if (request.opcode == Opcode::kAllreduce && world_ > 1) {
    const std::uint64_t bytes = request.count * element_bytes(request.dtype);
    if (request.algorithm == Algorithm::kOnly) request.algorithm = table_.choose(bytes);
    if (is_deterministic) {
      // In order of rank whatever the size is: both do that.
      const bool is_short = request.wire == Wire::kExact && bytes <= kDeterministicShort &&
                            static_cast<std::size_t>(world_) <= kMaxDirect;
      request.algorithm = is_short ? Algorithm::kOneShot : Algorithm::kDirect;
      request.is_flat = true;
    }
    const bool is_whole =
        request.algorithm == Algorithm::kOneShot || request.algorithm == Algorithm::kDoubling;
    if (is_whole) request.wire = Wire::kExact;  // all ranks make the sum: of the same values
  }
  const int status = queue_.submit(request, map_, work);
  if (status == DT_OK && engine_) {
    const bool is_long = request.count * element_bytes(request.dtype) > kLong;
    engine_->note_submission(is_long || queue_.has_completion_fd());
  }
  return status;
}

int Comm::wait(dt_work work, int timeout_ms) {
  if (!engine_) return queue_.wait(work, timeout_ms);
  const OperationQueue::User user(queue_);
  const auto deadline =
      timeout_ms < 0 ? std::chrono::steady_clock::time_point::max()
                     : std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  engine_->drive(work, deadline);
  if (timeout_ms <= 0) return queue_.wait(work, timeout_ms);
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now())
          .count();
  return queue_.wait(work, static_cast<int>(std::max<std::int64_t>(left, 0)));
}

int Comm::wait_any(dt_work* works, std::int32_t* statuses, std::uint32_t max, std::uint32_t* count,
                   int timeout_ms) {
  const OperationQueue::User user(queue_);
  if (engine_) engine_->recall();
  return queue_.wait_any(works, statuses, max, count, timeout_ms);
}

int Comm::wait_for(Request request) {
  dt_work work = 0;
  request.is_own = true;
  int status = submit(request, DT_WIRE_EXACT, &work);
  if (status == DT_OK) status = wait(work, -1);
  if (status != DT_OK) throw CommError(status, queue_.error_text(), {});
  return status;
}

// Seconds of one sum on this rank.
double Comm::time_once(Algorithm algorithm, std::vector<float>& values) {
  Request all, request;
  all.opcode = Opcode::kBarrier;
  wait_for(all);
  request.opcode = Opcode::kAllreduce;
  request.dtype = DT_F32;
  request.count = values.size();
  request.algorithm = algorithm;
  request.in = request.out = reinterpret_cast<std::byte*>(values.data());
  const auto begin = std::chrono::steady_clock::now();
  wait_for(request);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Whether one algorithm is quicker than another: by the median of times taken in turn, of the
// slowest rank. All ranks see the same times.
bool Comm::is_quicker(Algorithm one, Algorithm other, std::uint64_t bytes, double& spent) {
  constexpr int kRepeats = 9;
  constexpr double kShortTime = 2e-3;  // for so many repeats
  std::vector<float> values(bytes / sizeof(float));
  std::array<std::vector<double>, 2> times;
  const auto begin = std::chrono::steady_clock::now();
  int repeats = kRepeats;
  for (int i = -1; i < repeats; ++i) {  // the first ones meet cold memory
    const std::array turn{time_once(one, values), time_once(other, values)};
    if (i == -1) {
      std::array worst{static_cast<float>(turn[0] + turn[1])};
      wait_for_most(worst);
      repeats = static_cast<double>(worst[0]) > kShortTime ? kRepeats / 3 : kRepeats;
      continue;
    }
    for (std::size_t k = 0; k < turn.size(); ++k) times[k].push_back(turn[k]);
  }
  const auto median = [](std::vector<double>& all) {
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
    std::nth_element(all.begin(), middle, all.end());
    return static_cast<float>(*middle);
  };
  const std::chrono::duration<float> total = std::chrono::steady_clock::now() - begin;
  std::array worst{median(times[0]), median(times[1]), total.count()};
  wait_for_most(worst);
  spent += static_cast<double>(worst[2]);
  return worst[0] <= worst[1];
}

void Comm::wait_for_most(std::span<float> values) {
  Request slowest;
  slowest.opcode = Opcode::kAllreduce;
  slowest.dtype = DT_F32;
  slowest.op = DT_MAX;
  slowest.count = values.size();
  slowest.in = slowest.out = reinterpret_cast<std::byte*>(values.data());
  wait_for(slowest);
}

// All ranks see the same times, so they draw the same table.
void Comm::measure() {
  constexpr double kEnough = 0.1;  // seconds: links so slow that their bandwidth alone counts
  constexpr int kMostMisses = 2;   // in a row: one may be noise
  const bool is_small = static_cast<std::size_t>(world_) <= kMaxDirect;
  const Algorithm quick = is_small ? Algorithm::kOneShot : Algorithm::kDoubling;
  const std::size_t nodes = map_.nodes.size();
  const std::uint64_t most = nodes == 1 ? 256 << 10 : 64 << 10;
  const Algorithm large = table_.choose(1 << 30);
  double spent = 0;
  std::uint64_t border = 4 << 10;
  int misses = 0;
  for (std::uint64_t bytes = 2 * border; bytes <= most && spent < kEnough; bytes *= 2) {
    const bool is_better = is_quicker(quick, large, bytes, spent);
    misses = is_better ? 0 : misses + 1;
    if (is_better) border = bytes;
    if (misses == kMostMisses) break;
  }
  table_ = AlgorithmTable::by_default(world_, nodes);
  Algorithm beyond = large;
  if (nodes > 2 && nodes <= kMaxDirect && spent < kEnough &&
      is_quicker(Algorithm::kRing, Algorithm::kDirect, 1 << 20, spent)) {
    beyond = Algorithm::kRing;
  }
  table_.set(beyond, 512 << 10, kAnySize);
  table_.set(large, border, 512 << 10);
  table_.set(quick, 0, border);
  queue_.restart_numbers();
}

bool Comm::is_of_this_process() const {
  return ::getpid() == pid_;
}

void Comm::abort(const std::string& why) {
  if (engine_) {
    queue_.request_abort(why);
    engine_->note_order();
    queue_.wait_until_failed();
  } else {
    queue_.fail(DT_E_ABORTED, fmt::format("rank {} aborted: {}", rank_, why));
  }
}

Comm* failed_comm(int status, const std::string& text) {
  auto comm = std::make_unique<Comm>(0, 1, Tuning{});
  comm->queue().set_error(status, text);
  return comm.release();
}

int create_comm(const dt_options& options, const Tuning& tuning, Comm** comm) {
  *comm = nullptr;
  try {
    if (options.world < 1 || options.world > kMaxWorld || options.rank < 0 ||
        options.rank >= options.world) {
      *comm = failed_comm(DT_E_INVAL, fmt::format("cannot create a communicator: rank {} of a "
                                                  "world of {} does not exist",
                                                  options.rank, options.world));
      return DT_E_INVAL;
    }
    auto created = std::make_unique<Comm>(options.rank, options.world, tuning);
    int status = DT_OK;
    try {
      created->connect(options);
    } catch (const CommError& error) {
      status = error.dt_status();
      created->queue().set_error(status, error.what());
    }
    *comm = created.release();
    return status;
  } catch (const std::exception&) {
    return DT_E_NOMEM;
  }
}

}  // namespace dtl::ring
