// Switches name every collective if possible, so that a new one does not compile until it is
// handled here.
#include "ring/perf/perf_collective.h"

#include <algorithm>

#include "ring/perf/perf_values.h"

namespace dtl::ring {
namespace {

constexpr std::uint64_t kTag = 0x70657266;  // "perf", in errors

// Whether the larger buffer has a block for each rank.
bool is_blocked(Collective collective) {
  switch (collective) {
    case Collective::kReduceScatter:
    case Collective::kAllgather:
    case Collective::kGather:
    case Collective::kScatter:
    case Collective::kAlltoall:
      return true;
    default:
      return false;
  }
}

std::uint64_t blocks(int world) {
  return static_cast<std::uint64_t>(world);
}

std::vector<Piece> gathered(const Job& job, int world, std::uint64_t first) {
  std::vector<Piece> pieces;
  for (int source = 0; source < world; ++source) {
    pieces.push_back({source, static_cast<std::uint64_t>(source) * job.count, first, job.count});
  }
  return pieces;
}

// To the next rank, from the one before. With two ranks both are the same peer, and a pair must
// agree about the order: what goes up comes first.
int start_sendrecv(dt_comm* comm, const Job& job, const Buffers& buffers,
                   std::vector<dt_work>& works) {
  const int rank = dt_comm_rank(comm), world = dt_comm_size(comm);
  const int next = (rank + 1) % world, last = (rank + world - 1) % world;
  const bool sends_first = rank < next;
  for (const bool sends : {sends_first, !sends_first}) {
    dt_work work = 0;
    const int status = sends ? dt_send(comm, buffers.in, job.count, job.dtype, next, kTag, &work)
                             : dt_recv(comm, buffers.out, job.count, job.dtype, last, kTag, &work);
    if (status != DT_OK) return status;
    works.push_back(work);
  }
  return DT_OK;
}

}  // namespace

const std::vector<CollectiveFacts>& all_collectives() {
  using enum Collective;
  static const std::vector<CollectiveFacts> kAll = {
      // reduces, rooted, wire, in place, out of place
      {kAllreduce, "allreduce", true, false, true, true, true},
      {kReduceScatter, "reduce_scatter", true, false, true, true, true},
      {kReduce, "reduce", true, true, false, true, true},
      {kAllgather, "allgather", false, false, false, true, true},
      {kBroadcast, "broadcast", false, true, false, true, false},
      {kGather, "gather", false, true, false, true, true},
      {kScatter, "scatter", false, true, false, true, true},
      {kAlltoall, "alltoall", false, false, false, false, true},
      {kSendrecv, "sendrecv", false, false, false, false, true},
      {kBarrier, "barrier", false, false, false, false, true},
  };
  return kAll;
}

const CollectiveFacts& facts_of(Collective collective) {
  return all_collectives()[static_cast<std::size_t>(collective)];
}

std::uint64_t count_for(Collective collective, std::uint64_t bytes, std::size_t element_bytes,
                        int world) {
  if (collective == Collective::kBarrier) return 0;
  const std::uint64_t elements = bytes / element_bytes;
  return std::max<std::uint64_t>(1, is_blocked(collective) ? elements / blocks(world) : elements);
}

std::uint64_t in_count(const Job& job, int world) {
  switch (job.collective) {
    case Collective::kReduceScatter:
    case Collective::kScatter:
    case Collective::kAlltoall:
      return job.count * blocks(world);
    default:
      return job.count;
  }
}

std::uint64_t out_count(const Job& job, int world) {
  switch (job.collective) {
    case Collective::kAllgather:
    case Collective::kGather:
    case Collective::kAlltoall:
      return job.count * blocks(world);
    default:
      return job.count;
  }
}

// The formulas of nccl-tests: with n ranks, 1/n of the data is already in place.
double bus_factor(Collective collective, int world) {
  if (world == 1) return 0;  // nothing moves
  const double n = world;
  switch (collective) {
    case Collective::kAllreduce:
      return 2 * (n - 1) / n;
    case Collective::kReduceScatter:
    case Collective::kAllgather:
    case Collective::kGather:
    case Collective::kScatter:
    case Collective::kAlltoall:
      return (n - 1) / n;
    case Collective::kReduce:
    case Collective::kBroadcast:
    case Collective::kSendrecv:
      return 1;
    case Collective::kBarrier:
      return 0;
  }
  return 0;
}

std::vector<Piece> expected(const Job& job, int rank, int world) {
  const bool is_root = rank == job.root;
  const std::uint64_t own_block = static_cast<std::uint64_t>(rank) * job.count;
  const std::vector<Piece> nothing;
  switch (job.collective) {
    case Collective::kAllreduce:
      return {{Piece::kReduced, 0, 0, job.count}};
    case Collective::kReduceScatter:
      return {{Piece::kReduced, 0, own_block, job.count}};
    case Collective::kReduce:
      return is_root ? std::vector<Piece>{{Piece::kReduced, 0, 0, job.count}} : nothing;
    case Collective::kAllgather:
      return gathered(job, world, 0);
    case Collective::kBroadcast:
      return {{job.root, 0, 0, job.count}};
    case Collective::kGather:
      return is_root ? gathered(job, world, 0) : nothing;
    case Collective::kScatter:
      return {{job.root, 0, own_block, job.count}};
    case Collective::kAlltoall:
      return gathered(job, world, own_block);
    case Collective::kSendrecv:
      return {{(rank + world - 1) % world, 0, 0, job.count}};
    case Collective::kBarrier:
      return nothing;
  }
  return nothing;
}

// Whether this rank sets the input before. Out of place, the operation must not change such an
// input.
bool reads_input(const Job& job, int rank) {
  if (job.collective == Collective::kBarrier) return false;
  const bool root_only =
      job.collective == Collective::kScatter || job.collective == Collective::kBroadcast;
  return !root_only || rank == job.root;
}

Buffers in_place(const Job& job, std::byte* buffer, int rank, int world) {
  const std::size_t block = job.count * type_of(job.dtype).bytes;
  std::byte* own = buffer + static_cast<std::size_t>(rank) * block;
  const bool is_root = rank == job.root;
  // In place, the own block is part of the larger buffer, as dtring.h allows. If a rank does not
  // use its larger buffer, its block may be anywhere.
  if (out_count(job, world) > in_count(job, world)) {
    const bool gathers = is_root || job.collective == Collective::kAllgather;
    return {gathers ? own : buffer, buffer};
  }
  if (in_count(job, world) > out_count(job, world)) {
    const bool scatters = is_root || job.collective == Collective::kReduceScatter;
    return {buffer, scatters ? own : buffer};
  }
  return {buffer, buffer};
}

// Only enqueues: the caller stops the clock after waiting for all ids.
int start(dt_comm* comm, const Job& job, const Buffers& buffers, std::vector<dt_work>& works) {
  const void* in = buffers.in;
  void* out = buffers.out;
  dt_work work = 0;
  int status = DT_E_INVAL;
  switch (job.collective) {
    case Collective::kAllreduce:
      status = dt_allreduce(comm, in, out, job.count, job.dtype, job.op, job.wire, kTag, &work);
      break;
    case Collective::kReduceScatter:
      status =
          dt_reduce_scatter(comm, in, out, job.count, job.dtype, job.op, job.wire, kTag, &work);
      break;
    case Collective::kReduce:
      status = dt_reduce(comm, in, out, job.count, job.dtype, job.op, job.root, kTag, &work);
      break;
    case Collective::kAllgather:
      status = dt_allgather(comm, in, out, job.count, job.dtype, kTag, &work);
      break;
    case Collective::kBroadcast:
      status = dt_broadcast(comm, out, job.count, job.dtype, job.root, kTag, &work);
      break;
    case Collective::kGather:
      status = dt_gather(comm, in, out, job.count, job.dtype, job.root, kTag, &work);
      break;
    case Collective::kScatter:
      status = dt_scatter(comm, in, out, job.count, job.dtype, job.root, kTag, &work);
      break;
    case Collective::kAlltoall:
      status = dt_alltoall(comm, in, out, job.count, job.dtype, kTag, &work);
      break;
    case Collective::kSendrecv:
      return start_sendrecv(comm, job, buffers, works);
    case Collective::kBarrier:
      status = dt_barrier(comm, kTag, &work);
      break;
  }
  if (status == DT_OK) works.push_back(work);
  return status;
}

}  // namespace dtl::ring
