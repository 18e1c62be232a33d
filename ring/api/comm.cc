// The order of creation: options, meeting, agreement, engine, measurement. The caller only gets the
// communicator after that, so nothing before needs a lock.
#include "ring/api/comm.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <exception>
#include <string_view>
#include <utility>

#include "ring/api/tuner.h"
#include "ring/common/comm_error.h"
#include "ring/meeting/rendezvous.h"

namespace dtl::ring {
namespace {

constexpr int kMaxWorld = 65535;

// How long threads poll before they sleep. Waking a thread on an idle core takes longer than a
// short operation. Without a spare core they do not poll.
struct Spinning {
  std::chrono::microseconds of_engine{0}, of_callers{0};
};

Spinning choose_spinning(bool has_own_cpus, bool is_crowded) {
  constexpr auto kSpin = std::chrono::microseconds(100);
  constexpr auto kSpinOnOneCore = std::chrono::microseconds(50);
  if (is_crowded) return {};
  cpu_set_t cpus;
  const bool is_single =
      ::sched_getaffinity(0, sizeof cpus, &cpus) == 0 && CPU_COUNT(&cpus) == 1 && !has_own_cpus;
  // A polling caller would keep the communication thread from running.
  if (is_single) return {kSpinOnOneCore, {}};
  return {kSpin, kSpin};
}

// Keys for different uses of one secret, none of which gives another one away.
Key labelled_key(std::span<const std::uint8_t> secret, std::string_view label) {
  return hkdf_sha256(secret, {},
                     {reinterpret_cast<const std::uint8_t*>(label.data()), label.size()});
}

}  // namespace

Comm::Comm(int rank, int world, const Tuning& tuning)
    : rank_(rank),
      world_(world),
      tuning_(tuning),
      forks_(forks()),
      agreement_(agree_alone(rank, world)),
      calls_(rank, world) {
  count_forks();
}

void Comm::connect(const dt_options& options) {
  if (world_ == 1) return;
  options_ = read_options(options, tuning_.tunes);
  const std::span secret{options.secret, options.secret_bytes};
  part_secret_ = labelled_key(secret, "dtl2 parts");
  meet_others(secret, copy_listener(options));
}

// Connects to the other ranks. The caller wipes `secret`. A communicator of many ranks keeps its
// own key to the end, since it connects to them later.
void Comm::meet_others(std::span<const std::uint8_t> secret, Fd listener) {
  const Key key = labelled_key(secret, "dtl4 meeting");
  auto identity = std::make_unique<Identity>(Identity{options_.job,
                                                      world_,
                                                      rank_,
                                                      {key.bytes().begin(), key.bytes().end()},
                                                      options_.encrypts,
                                                      options_.encrypts && tuning_.encrypts_all});
  MeetingPlace place;
  place.master_address = options_.master_address;
  place.master_port = options_.master_port;
  place.host_name = options_.host_name;
  place.timeout_ms = options_.connect_timeout_ms;
  place.silence = tuning_.silence;
  place.own_address = options_.own_address;
  place.listener = std::move(listener);
  place.settings = options_.settings;
  if (tuning_.most_linked > 0) place.settings.most_linked = tuning_.most_linked;
  if (tuning_.fan_out > 0) place.settings.fan_out = tuning_.fan_out;
  if (tuning_.node != "none") memory_.share(world_);
  place.memory = memory_.node();
  if (place.memory != nullptr) {
    // Tests add their own node name to the key: ranks that cannot share memory must never try.
    place.node = tuning_.node + node_key();
    place.share = place.memory->address();
  }
  Links links = meet(std::move(identity), std::move(place));
  agreement_ = agree_upon(links, options_.encrypts, memory_.note());
  if (!links.warning.empty() && options_.warn != nullptr) {
    options_.warn(fmt::format("ranks of one node are connected by TCP: {}", links.warning).c_str(),
                  options_.warn_context);
  }
  start_engine(std::move(links));
  tune();
}

void Comm::start_engine(Links links) {
  const ShmNode* node = memory_.node();
  const bool is_crowded =
      node != nullptr && agreement_.map.has_several_per_node() && node->is_crowded();
  const Spinning spinning = choose_spinning(!tuning_.cpus.empty(), is_crowded);
  Engine::Settings settings;
  settings.rank = rank_;
  settings.patience = {std::chrono::milliseconds(options_.operation_timeout_ms),
                       std::chrono::milliseconds(options_.warn_timeout_ms), options_.warn,
                       options_.warn_context};
  settings.cpus = tuning_.cpus;
  settings.active_spin = spinning.of_engine;
  calls_.queue().waiters().set_spin_time(spinning.of_callers);
  // Before the first operation, and only if there are other ranks to wait for.
  calls_.queue().numbers().note().show(options_.job, rank_, world_);
  calls_.start_engine(settings, std::move(links), memory_.node());
}

void Comm::tune() {
  if (agreement_.settings.tunes != 0) {
    Terms& terms = agreement_.terms;
    Tuner tuner(world_, terms.nodes,
                trial_of([this](const Request& request) { carry_out(request); }));
    try {
      Tuned tuned = tuner.measure(terms.table);
      terms.table = std::move(tuned.table);
      terms.costs = tuned.costs;
    } catch (const CommError&) {
      return;  // the ranks have met; the first operation reports later failures
    }
    calls_.queue().numbers().restart();
  }
  if (!tuning_.is_verbose || rank_ != 0) return;
  const std::string line = fmt::format("dtring: {}\n", describe_agreement(agreement_));
  (void)!::write(STDERR_FILENO, line.data(), line.size());
}

int Comm::submit(const Request& request, dt_work* work) {
  return calls_.submit(request, choose(request, agreement_.terms), work);
}

void Comm::carry_out(Request request) {
  dt_work work = 0;
  // Otherwise dt_wait_any would report an id that the caller does not know.
  request.is_own = true;
  int status = submit(request, &work);
  if (status == DT_OK) status = calls_.wait(work, -1);
  if (status != DT_OK) throw CommError(status, calls_.queue().error().text(), {});
}

std::string Comm::stats() const {
  return stats_json(agreement_, calls_.counters());
}

Comm* failed_comm(int status, const std::string& text) {
  // A world of one has no engine and no sockets, so this is cheap and does not fail.
  auto comm = std::make_unique<Comm>(0, 1, Tuning{});
  comm->calls().queue().error().set(status, text);
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
    // The Comm survives a failed connect(), so that dt_last_error can say why. Only without memory
    // there is none.
    auto created = std::make_unique<Comm>(options.rank, options.world, tuning);
    int status = DT_OK;
    try {
      created->connect(options);
    } catch (const CommError& error) {
      status = error.dt_status();
      created->calls().queue().error().set(status, error.what());
    }
    *comm = created.release();
    return status;
  } catch (const std::exception&) {
    return DT_E_NOMEM;
  }
}

}  // namespace dtl::ring
