#pragma once
// Shared by the functions of the C ABI: argument checks, and conversion of exceptions, since a
// caller may be C or Python. Arguments are checked before enqueuing: an operation that only one
// rank rejects must leave that rank unchanged.

#include <cstddef>
#include <cstdint>
#include <exception>

#include "ring/api/comm.h"
#include "ring/arithmetic/reduce.h"
#include "ring/common/comm_error.h"
#include "ring/dtring.h"

namespace dtl::ring::c_abi {

constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 62;  // keeps sums of sizes in 64 bits

// dt_comm is never defined: it is the C name of Comm.
inline Comm* of(dt_comm* comm) {
  return reinterpret_cast<Comm*>(comm);
}
inline const Comm* of(const dt_comm* comm) {
  return reinterpret_cast<const Comm*>(comm);
}
inline dt_comm* as_c(Comm* comm) {
  return reinterpret_cast<dt_comm*>(comm);
}

// In a forked child the communicator's thread does not exist, and its connections are closed
// (ForkGuard). Waiting there would never end.
inline bool is_usable(dt_comm* comm) {
  return comm != nullptr && of(comm)->is_of_this_process();
}

// Checks one buffer of `count` elements. It must be aligned to its elements, and may be null only
// if it has none.
inline bool is_buffer(const void* data, std::uint64_t count, int dtype) {
  const std::size_t bytes = element_bytes(dtype);
  if (bytes == 0 || count > kMaxBytes / bytes) return false;
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(data) % bytes == 0;
  return count == 0 || (data != nullptr && is_aligned);
}

// Runs the body and converts exceptions to a status. Any exception except CommError means that
// memory ran out.
template <class Body>
int guarded(const Body& body) {
  try {
    return body();
  } catch (const CommError& error) {
    return error.dt_status();
  } catch (const std::exception&) {
    return DT_E_NOMEM;
  }
}

inline int submit(dt_comm* comm, const Request& request, dt_work* work) {
  return guarded([&] { return of(comm)->submit(request, work); });
}

inline bool is_rank(dt_comm* comm, int rank) {
  return rank >= 0 && rank < of(comm)->world();
}

inline bool is_wire(int wire) {
  return wire >= DT_WIRE_DEFAULT && wire <= DT_WIRE_F16;
}

inline Request make_request(Opcode opcode, const void* in, void* out, std::uint64_t count,
                            int dtype, std::uint64_t tag) {
  Request request;
  request.opcode = opcode;
  request.dtype = dtype;
  request.count = count;
  request.tag = tag;
  request.in = static_cast<const std::byte*>(in);
  request.out = static_cast<std::byte*>(out);
  return request;
}

// The sum over all ranks; false if it exceeds the maximum. Counts come from the caller; a sum that
// wraps around would look like a small buffer.
inline bool add_up(const std::uint64_t* counts, int world, std::uint64_t& total) {
  total = 0;
  for (int i = 0; i < world; ++i) {
    if (counts[i] > kMaxBytes - total) return false;
    total += counts[i];
  }
  return true;
}

// Checks a buffer with count_per_rank elements for every rank.
inline bool is_buffer_of_all(dt_comm* comm, const void* data, std::uint64_t count, int dtype) {
  const auto world = static_cast<std::uint64_t>(of(comm)->world());
  return count <= kMaxBytes / world && is_buffer(data, count * world, dtype);
}

}  // namespace dtl::ring::c_abi
