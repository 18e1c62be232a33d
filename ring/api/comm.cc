#include "ring/api/comm.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <exception>

#include "base/host_name.h"
#include "base/random.h"
#include "ring/api/tuner.h"
#include "ring/arithmetic/reduce.h"
#include "ring/common/comm_error.h"
#include "ring/common/socket.h"
#include "ring/meeting/rendezvous.h"
#include "ring/meeting/stream_count.h"

namespace dtl::ring {
namespace {

constexpr int kMaxWorld = 65535;
constexpr int kMaxLocal = 1024;
constexpr std::uint64_t kWorthWaking = 1 << 20;  // bytes, to wake a thread for at once

std::string name_of_host(const char* given) {
  return given != nullptr && given[0] != '\0' ? std::string(given).substr(0, 255) : own_host_name();
}

void check(const dt_options& options) {
  const auto reject = [](const std::string& reason) {
    throw CommError(DT_E_INVAL, "cannot create a communicator", reason);
  };
  const bool listens = options.rank == 0 && options.listener >= 0;
  if (!listens && (options.master_address == nullptr || options.master_address[0] == '\0')) {
    reject("there is no master address");
  }
  if (!listens && (options.master_port < 1 || options.master_port > 65535)) {
    reject(fmt::format("master port {} is not in 1..65535", options.master_port));
  }
  if ((options.flags & ~std::uint32_t{DT_DETERMINISTIC | DT_ENVIRONMENT | DT_ENCRYPT}) != 0) {
    reject(fmt::format("flags {} has bits that nobody knows", options.flags));
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

// Rank 0's own copy of the socket that listens already; nothing elsewhere.
Fd copy_listener(const dt_options& options) {
  if (options.rank != 0 || options.listener < 0) return {};
  const std::string attempt = fmt::format("cannot listen on descriptor {}", options.listener);
  int listens = 0;
  socklen_t bytes = sizeof listens;
  if (::getsockopt(options.listener, SOL_SOCKET, SO_ACCEPTCONN, &listens, &bytes) != 0) {
    throw CommError(DT_E_INVAL, attempt, errno_text(errno));
  }
  if (listens == 0) throw CommError(DT_E_INVAL, attempt, "nobody has called listen() for it");
  Fd copy(::fcntl(options.listener, F_DUPFD_CLOEXEC, 0));
  const int flags = copy.valid() ? ::fcntl(copy.get(), F_GETFL) : -1;
  if (flags < 0 || ::fcntl(copy.get(), F_SETFL, flags | O_NONBLOCK) != 0) {
    throw CommError(DT_E_SYS, attempt, errno_text(errno));
  }
  avoid_bbr(copy.get());
  return copy;
}

}  // namespace

Comm::Comm(int rank, int world, const Tuning& tuning)
    : rank_(rank), world_(world), tuning_(tuning), pid_(::getpid()), queue_(world) {
  terms_.world = world;
  map_ = NodeMap::from_keys(rank, std::vector<std::string>(static_cast<std::size_t>(world)));
}

Comm::~Comm() {
  if (engine_) engine_->stop();
  queue_.fail(DT_E_ABORTED, "the communicator was destroyed");
  callers_.wait_until_none();
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
  meet_others(identity, options, copy_listener(options));
  tune();
}

void Comm::meet_others(Identity& identity, const dt_options& options, Fd listener) {
  remember(options);
  identity.encrypts = encrypts_;
  identity.encrypts_all = encrypts_ && tuning_.encrypts_all;
  MeetingPlace place;
  place.master_address = options.master_address == nullptr ? "" : options.master_address;
  place.master_port = options.master_port;
  place.host_name = host_name_;
  place.timeout_ms = options.connect_timeout_ms;
  place.silence = tuning_.silence;
  place.own_address = options.address == nullptr ? "" : options.address;
  place.listener = std::move(listener);
  place.settings = settings_of(options, place.own_address);
  AlgorithmTable::parse(place.settings.allreduce, {});  // a mistake is told before the meeting
  if (tuning_.node != "none") open_memory(place);
  Links links = meet(identity, std::move(place));
  agree_upon(links);
  start_engine(std::move(links));
}

void Comm::remember(const dt_options& options) {
  host_name_ = name_of_host(options.host_name);
  job_ = options.job;
  connect_timeout_ms_ = options.connect_timeout_ms;
  operation_timeout_ms_ = options.operation_timeout_ms;
  warn_timeout_ms_ = options.warn_timeout_ms;
  warn_ = options.warn;
  warn_context_ = options.warn_context;
  encrypts_ = (options.flags & DT_ENCRYPT) != 0;
}

// Rank 0's are those of all.
Settings Comm::settings_of(const dt_options& options, const std::string& own_address) const {
  Settings settings;
  settings.streams =
      static_cast<std::uint32_t>(options.streams > 0 ? options.streams : streams_of(own_address));
  settings.wire =
      static_cast<std::uint32_t>(options.wire == DT_WIRE_DEFAULT ? DT_WIRE_EXACT : options.wire);
  settings.flags = options.flags & DT_DETERMINISTIC;
  settings.tunes = tuning_.tunes && options.allreduce == nullptr ? 1 : 0;
  settings.allreduce = options.allreduce == nullptr ? "" : options.allreduce;
  return settings;
}

// Without it ranks of this node are reached as others are.
void Comm::open_memory(MeetingPlace& place) {
  try {
    memory_ = std::make_unique<ShmNode>(std::min(world_, kMaxLocal));
    place.node = tuning_.node + node_key();
    place.share = memory_->address();
  } catch (const CommError& error) {
    memory_note_ = error.what();
    memory_.reset();
  }
  place.memory = memory_.get();
}

void Comm::agree_upon(const Links& links) {
  settings_ = links.settings;
  map_ = links.map;
  own_address_ = links.own_address;
  if (memory_note_.empty()) memory_note_ = links.warning;
  if (!links.warning.empty() && warn_ != nullptr) {
    warn_(fmt::format("ranks of one node are connected by TCP: {}", links.warning).c_str(),
          warn_context_);
  }
  // Times of ranks that share cores would say how the scheduler shares them.
  if (links.is_crowded) settings_.tunes = 0;
  terms_.nodes = map_.nodes.size();
  terms_.wire = static_cast<int>(settings_.wire);
  terms_.is_deterministic = (settings_.flags & DT_DETERMINISTIC) != 0;
  terms_.table =
      AlgorithmTable::parse(settings_.allreduce, AlgorithmTable::by_default(world_, terms_.nodes));
}

void Comm::start_engine(Links links) {
  Engine::Settings settings;
  settings.rank = rank_;
  settings.patience = {std::chrono::milliseconds(operation_timeout_ms_),
                       std::chrono::milliseconds(warn_timeout_ms_), warn_, warn_context_};
  settings.cpus = tuning_.cpus;
  choose_spinning(settings);
  queue_.numbers().note().show(job_, rank_, world_);
  engine_ = std::make_unique<Engine>(settings, std::move(links), memory_.get(), queue_);
}

// Waking a thread on an idle core takes longer than a short operation does, so threads look for a
// while before they sleep; unless there is no core for that.
void Comm::choose_spinning(Engine::Settings& settings) {
  constexpr auto kSpin = std::chrono::microseconds(100);
  constexpr auto kSpinOnOneCore = std::chrono::microseconds(50);
  cpu_set_t cpus;
  const bool is_single = ::sched_getaffinity(0, sizeof cpus, &cpus) == 0 && CPU_COUNT(&cpus) == 1 &&
                         tuning_.cpus.empty();
  if (memory_ != nullptr && map_.has_several_per_node() && memory_->is_crowded()) return;
  settings.active_spin = is_single ? kSpinOnOneCore : kSpin;
  if (is_single) return;  // the communication thread could not run meanwhile
  queue_.waiters().set_spin_time(kSpin);
}

void Comm::tune() {
  if (settings_.tunes != 0) {
    Tuner tuner(world_, terms_.nodes,
                {[this](Algorithm algorithm, std::vector<float>& values) {
                   return time_once(algorithm, values);
                 },
                 [this](std::span<float> values) { take_most(values); }});
    try {
      terms_.table = tuner.measure(terms_.table);
    } catch (const CommError&) {
      return;  // the ranks have met; what has gone wrong since then is for the first operation
    }
    queue_.numbers().restart();
  }
  if (tuning_.is_verbose && rank_ == 0) say_how();
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

void Comm::take_most(std::span<float> values) {
  Request request;
  request.opcode = Opcode::kAllreduce;
  request.dtype = DT_F32;
  request.op = DT_MAX;
  request.count = values.size();
  request.in = request.out = reinterpret_cast<std::byte*>(values.data());
  wait_for(request);
}

void Comm::say_how() const {
  const std::string line =
      fmt::format("dtring: {} ranks on {} {}{}{}, {} {} to each peer, {} wire, allreduce {} ({})\n",
                  world_, map_.nodes.size(), map_.nodes.size() == 1 ? "host" : "hosts",
                  map_.has_several_per_node() ? " with shared memory" : "",
                  encrypts_ ? ", encrypted between hosts" : "", settings_.streams,
                  settings_.streams == 1 ? "stream" : "streams", wire_name(settings_.wire),
                  terms_.table.text(), settings_.tunes != 0 ? "measured" : "as given");
  (void)!::write(STDERR_FILENO, line.data(), line.size());
}

int Comm::submit(const Request& request, dt_work* work) {
  const int status = queue_.submit(request, choose(request, terms_), work);
  if (status == DT_OK && engine_) {
    const bool is_long = request.count * element_bytes(request.dtype) > kWorthWaking;
    engine_->note_submission(is_long || queue_.has_completion_fd());
  }
  return status;
}

int Comm::wait(dt_work work, int timeout_ms) {
  if (!engine_) return queue_.wait(work, timeout_ms);
  const CallerCount::Guard caller(callers_);
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
  const CallerCount::Guard caller(callers_);
  if (engine_) engine_->recall();
  return queue_.wait_any(works, statuses, max, count, timeout_ms);
}

// A message that is waited for in vain is the caller's to think about: nothing fails.
int Comm::probe(int from, int timeout_ms, int* source, OperationHeader* header) {
  const CallerCount::Guard caller(callers_);
  if (timeout_ms < 0) timeout_ms = operation_timeout_ms_;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  if (engine_) engine_->drive_to_announcement(from, deadline);
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now())
          .count();
  return queue_.announcements().probe(from, static_cast<int>(std::max<std::int64_t>(left, 0)),
                                      source, header);
}

int Comm::wait_for(Request request) {
  dt_work work = 0;
  request.is_own = true;
  int status = submit(request, &work);
  if (status == DT_OK) status = wait(work, -1);
  if (status != DT_OK) throw CommError(status, queue_.error().text(), {});
  return status;
}

bool Comm::is_of_this_process() const {
  return ::getpid() == pid_;
}

void Comm::abort(const std::string& why) {
  if (engine_) {
    const CallerCount::Guard caller(callers_);
    engine_->abort(why);
    queue_.error().wait();
  } else {
    queue_.fail(DT_E_ABORTED, fmt::format("rank {} aborted: {}", rank_, why));
  }
}

Comm* failed_comm(int status, const std::string& text) {
  auto comm = std::make_unique<Comm>(0, 1, Tuning{});
  comm->queue().error().set(status, text);
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
      created->queue().error().set(status, error.what());
    }
    *comm = created.release();
    return status;
  } catch (const std::exception&) {
    return DT_E_NOMEM;
  }
}

}  // namespace dtl::ring
