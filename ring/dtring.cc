// The C ABI: argument checks, and nothing thrown across it.
#include "ring/dtring.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <vector>

#include "ring/comm.h"
#include "ring/comm_error.h"
#include "ring/environment.h"
#include "ring/reduce.h"

using dtl::ring::Comm;
using dtl::ring::CommError;
using dtl::ring::Opcode;
using dtl::ring::Request;

namespace {

constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 62;  // keeps sums of sizes in 64 bits
constexpr int kDefaultConnectTimeout_ms = 60000;
constexpr int kDefaultOperationTimeout_ms = 600000;

// Programs that were compiled with an earlier dtring.h have a dt_options that ends before
// `address`.
bool is_known_size(std::uint32_t size) {
  return size == sizeof(dt_options) || size == offsetof(dt_options, address);
}

// dt_comm is never defined: it is the C name of Comm.
Comm* of(dt_comm* comm) {
  return reinterpret_cast<Comm*>(comm);
}
const Comm* of(const dt_comm* comm) {
  return reinterpret_cast<const Comm*>(comm);
}
dt_comm* as_c(Comm* comm) {
  return reinterpret_cast<dt_comm*>(comm);
}

bool is_usable(dt_comm* comm) {
  return comm != nullptr && of(comm)->is_of_this_process();
}

// Everything that can be wrong with one buffer of `count` elements.
bool is_buffer(const void* data, std::uint64_t count, int dtype) {
  const std::size_t bytes = dtl::ring::element_bytes(dtype);
  if (bytes == 0 || count > kMaxBytes / bytes) return false;
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(data) % bytes == 0;
  return count == 0 || (data != nullptr && is_aligned);
}

int submit(dt_comm* comm, const Request& request, dt_work* work) {
  try {
    return of(comm)->board().submit(request, work);
  } catch (const CommError& error) {
    return error.dt_status();
  } catch (const std::exception&) {
    return DT_E_NOMEM;
  }
}

int gather(dt_comm* comm, const void* in, void* out, const std::vector<std::uint64_t>& counts,
           int dtype, std::uint64_t tag, dt_work* work) {
  std::uint64_t total = 0;
  for (const std::uint64_t count : counts) {
    if (count > kMaxBytes || (total += count) > kMaxBytes) return DT_E_INVAL;
  }
  const std::uint64_t own = counts[static_cast<std::size_t>(of(comm)->rank())];
  if (!is_buffer(in, own, dtype) || !is_buffer(out, total, dtype)) return DT_E_INVAL;
  Request request;
  request.opcode = Opcode::kAllgather;
  request.dtype = dtype;
  request.count = total;
  request.tag = tag;
  request.in = static_cast<const std::byte*>(in);
  request.out = static_cast<std::byte*>(out);
  request.counts = counts.data();
  return submit(comm, request, work);
}

}  // namespace

uint32_t dt_abi_version(void) {
  return DT_ABI;
}

int dt_options_init(dt_options* options, uint32_t size) {
  if (options == nullptr || !is_known_size(size)) return DT_E_INVAL;
  std::memset(options, 0, size);
  options->size = size;
  options->world = 1;
  options->connect_timeout_ms = kDefaultConnectTimeout_ms;
  options->operation_timeout_ms = kDefaultOperationTimeout_ms;
  return DT_OK;
}

int dt_comm_create(const dt_options* options, dt_comm** comm) {
  if (comm == nullptr) return DT_E_INVAL;
  *comm = nullptr;
  if (options == nullptr || !is_known_size(options->size)) return DT_E_INVAL;
  dt_options known{};
  std::memcpy(&known, options, options->size);
  Comm* created = nullptr;
  const int status = dtl::ring::create_comm(known, {}, &created);
  *comm = as_c(created);
  return status;
}

int dt_comm_from_env(dt_comm** comm) {
  if (comm == nullptr) return DT_E_INVAL;
  *comm = nullptr;
  Comm* created = nullptr;
  int status = DT_E_NOMEM;
  try {
    try {
      const dtl::ring::EnvironmentOptions options;
      status = dtl::ring::create_comm(options.get(), options.tuning(), &created);
    } catch (const CommError& error) {
      status = error.dt_status();
      created = dtl::ring::failed_comm(status, error.what());
    }
  } catch (const std::exception&) {
    status = DT_E_NOMEM;
  }
  *comm = as_c(created);
  return status;
}

int dt_comm_rank(const dt_comm* comm) {
  return comm == nullptr ? DT_E_INVAL : of(comm)->rank();
}

int dt_comm_size(const dt_comm* comm) {
  return comm == nullptr ? DT_E_INVAL : of(comm)->world();
}

int dt_comm_abort(dt_comm* comm, const char* why) {
  if (!is_usable(comm)) return DT_E_INVAL;
  try {
    of(comm)->abort(why == nullptr ? "" : why);
    return DT_OK;
  } catch (const std::exception&) {
    return DT_E_NOMEM;
  }
}

int dt_comm_destroy(dt_comm* comm) {
  if (comm == nullptr) return DT_OK;
  if (!of(comm)->is_of_this_process()) return DT_E_INVAL;
  delete of(comm);
  return DT_OK;
}

int dt_allreduce(dt_comm* comm, const void* in, void* out, uint64_t count, int dtype, int op,
                 uint64_t tag, dt_work* work) {
  if (!is_usable(comm) || work == nullptr || op != DT_SUM) return DT_E_INVAL;
  if (!is_buffer(in, count, dtype) || !is_buffer(out, count, dtype)) return DT_E_INVAL;
  Request request;
  request.opcode = Opcode::kAllreduce;
  request.dtype = dtype;
  request.op = op;
  request.count = count;
  request.tag = tag;
  request.in = static_cast<const std::byte*>(in);
  request.out = static_cast<std::byte*>(out);
  return submit(comm, request, work);
}

int dt_allgather(dt_comm* comm, const void* in, void* out, uint64_t count_per_rank, int dtype,
                 uint64_t tag, dt_work* work) {
  if (!is_usable(comm) || work == nullptr) return DT_E_INVAL;
  try {
    const auto world = static_cast<std::size_t>(of(comm)->world());
    return gather(comm, in, out, std::vector(world, count_per_rank), dtype, tag, work);
  } catch (const std::exception&) {
    return DT_E_NOMEM;
  }
}

int dt_allgatherv(dt_comm* comm, const void* in, void* out, const uint64_t* counts, int dtype,
                  uint64_t tag, dt_work* work) {
  if (!is_usable(comm) || work == nullptr || counts == nullptr) return DT_E_INVAL;
  try {
    const std::vector<std::uint64_t> copy(counts, counts + of(comm)->world());
    return gather(comm, in, out, copy, dtype, tag, work);
  } catch (const std::exception&) {
    return DT_E_NOMEM;
  }
}

int dt_broadcast(dt_comm* comm, void* data, uint64_t count, int dtype, int root, uint64_t tag,
                 dt_work* work) {
  if (!is_usable(comm) || work == nullptr || !is_buffer(data, count, dtype)) return DT_E_INVAL;
  if (root < 0 || root >= of(comm)->world()) return DT_E_INVAL;
  Request request;
  request.opcode = Opcode::kBroadcast;
  request.dtype = dtype;
  request.root = root;
  request.count = count;
  request.tag = tag;
  request.in = request.out = static_cast<std::byte*>(data);
  return submit(comm, request, work);
}

int dt_barrier(dt_comm* comm, uint64_t tag, dt_work* work) {
  if (!is_usable(comm) || work == nullptr) return DT_E_INVAL;
  Request request;
  request.tag = tag;
  return submit(comm, request, work);
}

int dt_wait(dt_comm* comm, dt_work work, int32_t timeout_ms) {
  return is_usable(comm) ? of(comm)->board().wait(work, timeout_ms) : DT_E_INVAL;
}

int dt_test(dt_comm* comm, dt_work work) {
  return dt_wait(comm, work, 0);
}

const char* dt_strerror(int status) {
  switch (status) {
    case DT_OK:
      return "success";
    case DT_PENDING:
      return "the operation is still under way";
    case DT_E_INVAL:
      return "an argument is wrong";
    case DT_E_TIMEOUT:
      return "time-out";
    case DT_E_PEER:
      return "a peer was lost";
    case DT_E_MISMATCH:
      return "ranks called different operations";
    case DT_E_ABORTED:
      return "the communicator was aborted";
    case DT_E_AUTH:
      return "no secret, or a peer with another one";
    case DT_E_SYS:
      return "the operating system refused";
    case DT_E_NOMEM:
      return "out of memory";
    case DT_E_VERSION:
      return "a peer runs another version of dtring";
    default:
      return "unknown status";
  }
}

int dt_last_error(dt_comm* comm, char* text, uint32_t bytes) {
  if (comm == nullptr || text == nullptr || bytes == 0) return DT_E_INVAL;
  try {
    const std::string error = of(comm)->board().error_text();
    const std::size_t length = std::min<std::size_t>(error.size(), bytes - 1);
    std::memcpy(text, error.data(), length);
    text[length] = '\0';
    return DT_OK;
  } catch (const std::exception&) {
    return DT_E_NOMEM;
  }
}
