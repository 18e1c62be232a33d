#include "ring/comm.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <exception>

#include "ring/comm_error.h"
#include "ring/rendezvous.h"

namespace dtl::ring {
namespace {

constexpr std::uint32_t kMinSecretBytes = 32;
constexpr int kMaxWorld = 65535;

std::string own_host_name(const char* given) {
  if (given != nullptr && given[0] != '\0') return std::string(given).substr(0, 255);
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
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
  if (options.connect_timeout_ms < 1 || options.operation_timeout_ms < 1) {
    reject("a time-out is not positive");
  }
  if (options.secret == nullptr || options.secret_bytes < kMinSecretBytes) {
    throw CommError(DT_E_AUTH, "cannot create a communicator",
                    fmt::format("a secret of at least {} bytes is needed for more than one rank",
                                kMinSecretBytes));
  }
}

}  // namespace

Comm::Comm(int rank, int world, const Tuning& tuning)
    : rank_(rank),
      world_(world),
      tuning_(tuning),
      pid_(::getpid()),
      board_(rank, world, tuning.one_shot_bytes) {}

Comm::~Comm() {
  board_.request_stop();
  engine_.reset();
  board_.fail(DT_E_ABORTED, "the communicator was destroyed");
  board_.wait_until_unused();
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
  Links links = meet(
      identity, {options.master_address, options.master_port, own_host_name(options.host_name),
                 options.connect_timeout_ms, options.address == nullptr ? "" : options.address});
  Engine::Settings settings;
  settings.rank = rank_;
  settings.world = world_;
  settings.operation_timeout = std::chrono::milliseconds(options.operation_timeout_ms);
  settings.gather_bytes = gather_bytes_limit(world_, tuning_.one_shot_bytes);
  settings.cpus = tuning_.cpus;
  engine_ = std::make_unique<Engine>(settings, std::move(links), board_);
}

bool Comm::is_of_this_process() const {
  return ::getpid() == pid_;
}

void Comm::abort(const std::string& why) {
  if (engine_) {
    board_.abort(why);
  } else {
    board_.fail(DT_E_ABORTED, fmt::format("rank {} aborted: {}", rank_, why));
  }
}

Comm* failed_comm(int status, const std::string& text) {
  auto comm = std::make_unique<Comm>(0, 1, Tuning{});
  comm->board().set_error(status, text);
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
      created->board().set_error(status, error.what());
    }
    *comm = created.release();
    return status;
  } catch (const std::exception&) {
    return DT_E_NOMEM;
  }
}

}  // namespace dtl::ring
