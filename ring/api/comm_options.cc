// Finds all errors that a single rank can detect before it meets others: they would wait for it
// until their timeout.
#include "ring/api/comm_options.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include <cerrno>

#include "base/host_name.h"
#include "base/random.h"
#include "ring/common/comm_error.h"
#include "ring/common/crypto.h"
#include "ring/common/socket.h"
#include "ring/meeting/handshake.h"
#include "ring/meeting/stream_count.h"
#include "ring/operation/algorithm_table.h"

namespace dtl::ring {
namespace {

std::string name_of_host(const char* given) {
  // Truncated, since it is part of the table of all ranks.
  return given != nullptr && given[0] != '\0' ? std::string(given).substr(0, 255) : own_host_name();
}

std::string text_of(const char* given) {
  return given == nullptr ? "" : given;
}

void check(const dt_options& options) {
  const auto reject = [](const std::string& reason) {
    throw CommError(DT_E_INVAL, "cannot create a communicator", reason);
  };
  // A listener determines its address and port.
  const bool listens = options.rank == 0 && options.listener >= 0;
  if (!listens && (options.master_address == nullptr || options.master_address[0] == '\0')) {
    reject("the master address is missing");
  }
  if (!listens && (options.master_port < 1 || options.master_port > 65535)) {
    reject(fmt::format("master port {}: not a port (1 to 65535)", options.master_port));
  }
  if ((options.flags & ~std::uint32_t{DT_DETERMINISTIC | DT_ENVIRONMENT | DT_ENCRYPT}) != 0) {
    reject(fmt::format("flags {}: unknown bits", options.flags));
  }
  if (options.connect_timeout_ms < 1 || options.operation_timeout_ms < 1 ||
      options.warn_timeout_ms < 1) {
    reject("a timeout is not positive");
  }
  if (options.secret == nullptr || options.secret_bytes < kSecretBytes) {
    throw CommError(DT_E_AUTH, "cannot create a communicator",
                    fmt::format("a secret of at least {} bytes is needed for more than one rank",
                                kSecretBytes));
  }
}

Settings settings_of(const dt_options& options, bool tunes) {
  Settings settings;
  settings.streams = static_cast<std::uint32_t>(
      options.streams > 0 ? options.streams : streams_of(text_of(options.address)));
  settings.wire =
      static_cast<std::uint32_t>(options.wire == DT_WIRE_DEFAULT ? DT_WIRE_EXACT : options.wire);
  settings.flags = options.flags & DT_DETERMINISTIC;
  // Algorithms named by the user are not replaced by measured ones.
  settings.tunes = tunes && options.allreduce == nullptr ? 1 : 0;
  settings.allreduce = text_of(options.allreduce);
  return settings;
}

}  // namespace

CommOptions read_options(const dt_options& options, bool tunes) {
  check(options);
  CommOptions read;
  read.master_address = text_of(options.master_address);
  read.master_port = options.master_port;
  read.host_name = name_of_host(options.host_name);
  read.own_address = text_of(options.address);
  read.job = options.job;
  read.connect_timeout_ms = options.connect_timeout_ms;
  read.operation_timeout_ms = options.operation_timeout_ms;
  read.warn_timeout_ms = options.warn_timeout_ms;
  read.warn = options.warn;
  read.warn_context = options.warn_context;
  read.encrypts = (options.flags & DT_ENCRYPT) != 0;
  read.settings = settings_of(options, tunes);
  // Only checks the syntax. It is parsed again when the number of nodes is known.
  AlgorithmTable::parse(read.settings.allreduce, {});
  return read;
}

Fd copy_listener(const dt_options& options) {
  if (options.rank != 0 || options.listener < 0) return {};
  const std::string attempt = fmt::format("cannot listen on descriptor {}", options.listener);
  int listens = 0;
  socklen_t bytes = sizeof listens;
  if (::getsockopt(options.listener, SOL_SOCKET, SO_ACCEPTCONN, &listens, &bytes) != 0) {
    throw CommError(DT_E_INVAL, attempt, errno_text(errno));
  }
  if (listens == 0) throw CommError(DT_E_INVAL, attempt, "it is not listening");
  Fd copy(::fcntl(options.listener, F_DUPFD_CLOEXEC, 0));
  const int flags = copy.valid() ? ::fcntl(copy.get(), F_GETFL) : -1;
  if (flags < 0 || ::fcntl(copy.get(), F_SETFL, flags | O_NONBLOCK) != 0) {
    throw CommError(DT_E_SYS, attempt, errno_text(errno));
  }
  // Connections inherit it from their listener. Programs should call it earlier if possible:
  // connections already in the queue have the system's default.
  avoid_bbr(copy.get());
  return copy;
}

}  // namespace dtl::ring
