// The calls of the C ABI that move data. Each checks its arguments and converts them to a Request.
// Checks here only concern this rank's buffers; the ranks' headers later compare values that must
// be equal on all ranks, such as counts.
#include "ring/api/c_abi.h"

using namespace dtl::ring::c_abi;
using dtl::ring::can_combine;
using dtl::ring::Opcode;
using dtl::ring::OperationHeader;
using dtl::ring::Request;

int dt_allreduce(dt_comm* comm, const void* in, void* out, uint64_t count, int dtype, int op,
                 int wire, uint64_t tag, dt_work* work) {
  if (!is_usable(comm) || work == nullptr || !can_combine(dtype, op) || !is_wire(wire)) {
    return DT_E_INVAL;
  }
  if (!is_buffer(in, count, dtype) || !is_buffer(out, count, dtype)) return DT_E_INVAL;
  Request request = make_request(Opcode::kAllreduce, in, out, count, dtype, tag);
  request.op = op;
  request.wire = wire;
  return submit(comm, request, work);
}

int dt_reduce_scatter(dt_comm* comm, const void* in, void* out, uint64_t count_per_rank, int dtype,
                      int op, int wire, uint64_t tag, dt_work* work) {
  if (!is_usable(comm) || work == nullptr || !can_combine(dtype, op) || !is_wire(wire)) {
    return DT_E_INVAL;
  }
  if (!is_buffer_of_all(comm, in, count_per_rank, dtype) ||
      !is_buffer(out, count_per_rank, dtype)) {
    return DT_E_INVAL;
  }
  Request request = make_request(Opcode::kReduceScatter, in, out, count_per_rank, dtype, tag);
  request.op = op;
  request.wire = wire;
  return submit(comm, request, work);
}

int dt_reduce(dt_comm* comm, const void* in, void* out, uint64_t count, int dtype, int op, int root,
              uint64_t tag, dt_work* work) {
  if (!is_usable(comm) || work == nullptr || !can_combine(dtype, op) || !is_rank(comm, root)) {
    return DT_E_INVAL;
  }
  if (!is_buffer(in, count, dtype)) return DT_E_INVAL;
  // Only the root writes to out, so other ranks may pass null.
  if (of(comm)->rank() == root && !is_buffer(out, count, dtype)) return DT_E_INVAL;
  Request request = make_request(Opcode::kReduce, in, out, count, dtype, tag);
  request.op = op;
  request.root = root;
  return submit(comm, request, work);
}

int dt_allgather(dt_comm* comm, const void* in, void* out, uint64_t count_per_rank, int dtype,
                 uint64_t tag, dt_work* work) {
  if (!is_usable(comm) || work == nullptr || !is_buffer(in, count_per_rank, dtype) ||
      !is_buffer_of_all(comm, out, count_per_rank, dtype)) {
    return DT_E_INVAL;
  }
  return submit(comm, make_request(Opcode::kAllgather, in, out, count_per_rank, dtype, tag), work);
}

int dt_allgatherv(dt_comm* comm, const void* in, void* out, const uint64_t* counts, int dtype,
                  uint64_t tag, dt_work* work) {
  if (!is_usable(comm) || work == nullptr || counts == nullptr) return DT_E_INVAL;
  std::uint64_t total = 0;
  if (!add_up(counts, of(comm)->world(), total) || !is_buffer(out, total, dtype) ||
      !is_buffer(in, counts[of(comm)->rank()], dtype)) {
    return DT_E_INVAL;
  }
  Request request = make_request(Opcode::kAllgather, in, out, counts[of(comm)->rank()], dtype, tag);
  request.counts = counts;
  return submit(comm, request, work);
}

int dt_broadcast(dt_comm* comm, void* data, uint64_t count, int dtype, int root, uint64_t tag,
                 dt_work* work) {
  if (!is_usable(comm) || work == nullptr || !is_buffer(data, count, dtype)) return DT_E_INVAL;
  if (!is_rank(comm, root)) return DT_E_INVAL;
  Request request = make_request(Opcode::kBroadcast, data, data, count, dtype, tag);
  request.root = root;
  return submit(comm, request, work);
}

int dt_gather(dt_comm* comm, const void* in, void* out, uint64_t count_per_rank, int dtype,
              int root, uint64_t tag, dt_work* work) {
  if (!is_usable(comm) || work == nullptr || !is_rank(comm, root)) return DT_E_INVAL;
  if (!is_buffer(in, count_per_rank, dtype)) return DT_E_INVAL;
  if (of(comm)->rank() == root && !is_buffer_of_all(comm, out, count_per_rank, dtype)) {
    return DT_E_INVAL;
  }
  Request request = make_request(Opcode::kGather, in, out, count_per_rank, dtype, tag);
  request.root = root;
  return submit(comm, request, work);
}

int dt_scatter(dt_comm* comm, const void* in, void* out, uint64_t count_per_rank, int dtype,
               int root, uint64_t tag, dt_work* work) {
  if (!is_usable(comm) || work == nullptr || !is_rank(comm, root)) return DT_E_INVAL;
  if (!is_buffer(out, count_per_rank, dtype)) return DT_E_INVAL;
  if (of(comm)->rank() == root && !is_buffer_of_all(comm, in, count_per_rank, dtype)) {
    return DT_E_INVAL;
  }
  Request request = make_request(Opcode::kScatter, in, out, count_per_rank, dtype, tag);
  request.root = root;
  return submit(comm, request, work);
}

int dt_alltoall(dt_comm* comm, const void* in, void* out, uint64_t count_per_rank, int dtype,
                uint64_t tag, dt_work* work) {
  if (!is_usable(comm) || work == nullptr || !is_buffer_of_all(comm, in, count_per_rank, dtype) ||
      !is_buffer_of_all(comm, out, count_per_rank, dtype)) {
    return DT_E_INVAL;
  }
  return submit(comm, make_request(Opcode::kAlltoall, in, out, count_per_rank, dtype, tag), work);
}

int dt_alltoallv(dt_comm* comm, const void* in, const uint64_t* send_counts, void* out,
                 const uint64_t* receive_counts, int dtype, uint64_t tag, dt_work* work) {
  if (!is_usable(comm) || work == nullptr || send_counts == nullptr || receive_counts == nullptr) {
    return DT_E_INVAL;
  }
  std::uint64_t sent = 0, received = 0;
  const int world = of(comm)->world(), rank = of(comm)->rank();
  if (!add_up(send_counts, world, sent) || !add_up(receive_counts, world, received) ||
      !is_buffer(in, sent, dtype) || !is_buffer(out, received, dtype) ||
      send_counts[rank] != receive_counts[rank]) {
    return DT_E_INVAL;
  }
  // The headers compare counts per pair (FlowPlan::set_headers), as there is no common count for
  // all ranks. A world of one copies this many elements.
  Request request = make_request(Opcode::kAlltoall, in, out, world == 1 ? sent : 0, dtype, tag);
  request.counts = send_counts;
  request.receive_counts = receive_counts;
  return submit(comm, request, work);
}

namespace {

int pair(dt_comm* comm, const void* in, void* out, uint64_t count, int dtype, int peer,
         uint64_t tag, dt_work* work) {
  if (!is_usable(comm) || work == nullptr || !is_rank(comm, peer) || peer == of(comm)->rank() ||
      !is_buffer(out == nullptr ? in : out, count, dtype)) {
    return DT_E_INVAL;
  }
  Request request = make_request(Opcode::kPair, in, out, count, dtype, tag);
  request.root = peer;
  request.is_receive = in == nullptr;
  return submit(comm, request, work);
}

}  // namespace

int dt_send(dt_comm* comm, const void* in, uint64_t count, int dtype, int to, uint64_t tag,
            dt_work* work) {
  // A null `in` means receive below, and an empty send may well pass null.
  static const std::uint64_t kNothing = 0;
  return pair(comm, in == nullptr && count == 0 ? &kNothing : in, nullptr, count, dtype, to, tag,
              work);
}

int dt_recv(dt_comm* comm, void* out, uint64_t count, int dtype, int from, uint64_t tag,
            dt_work* work) {
  return pair(comm, nullptr, out, count, dtype, from, tag, work);
}

int dt_probe(dt_comm* comm, int32_t* from, uint64_t* count, int32_t* dtype, uint64_t* tag,
             int32_t timeout_ms) {
  if (!is_usable(comm) || from == nullptr || count == nullptr || dtype == nullptr ||
      tag == nullptr || (*from >= 0 && !is_rank(comm, *from)) || *from == of(comm)->rank()) {
    return DT_E_INVAL;
  }
  return guarded([&] {
    OperationHeader header;
    int source = 0;
    const int status = of(comm)->calls().probe(*from, timeout_ms, &source, &header);
    if (status != DT_OK) return status;
    *from = source;
    *count = header.count;
    *dtype = header.dtype;
    *tag = header.tag;
    return status;
  });
}

int dt_barrier(dt_comm* comm, uint64_t tag, dt_work* work) {
  if (!is_usable(comm) || work == nullptr) return DT_E_INVAL;
  return submit(comm, make_request(Opcode::kBarrier, nullptr, nullptr, 0, DT_U8, tag), work);
}
