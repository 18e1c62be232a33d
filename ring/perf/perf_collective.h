#pragma once
// The collectives of dtring.h as dtring-perf sees them: what they are called with for a given size,
// what every rank must find afterwards, and how their bandwidth is counted. Bandwidth is counted as
// nccl-tests does, so that numbers can be compared. Pure, but for start().

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "ring/dtring.h"

namespace dtl::ring {

enum class Collective {
  kAllreduce,
  kReduceScatter,
  kReduce,
  kAllgather,
  kBroadcast,
  kGather,
  kScatter,
  kAlltoall,
  kSendrecv,
  kBarrier
};

struct CollectiveFacts {
  Collective collective;
  std::string_view name;
  bool reduces;  // has a dt_op
  bool is_rooted;
  bool has_wire;      // takes a dt_wire
  bool in_place;      // may be called with one buffer
  bool out_of_place;  // may be called with two
};
// In the order of the enum.
const std::vector<CollectiveFacts>& all_collectives();
const CollectiveFacts& facts_of(Collective collective);

// One row of the table.
struct Job {
  Collective collective = Collective::kAllreduce;
  int dtype = DT_F32, op = DT_SUM, wire = DT_WIRE_DEFAULT, root = 0;
  std::uint64_t count = 0;  // as the call takes it: of each rank, where it says count_per_rank
};

// The `count` that comes nearest to `bytes` without exceeding it; at least 1.
std::uint64_t count_for(Collective collective, std::uint64_t bytes, std::size_t element_bytes,
                        int world);
// Elements of each buffer; the larger of both is the size that bandwidth is counted with.
std::uint64_t in_count(const Job& job, int world);
std::uint64_t out_count(const Job& job, int world);

// busbw = algbw * this: the part of the size that some rank cannot avoid to send, or to receive.
double bus_factor(Collective collective, int world);

// `count` elements of `out` from `at` on are those from `first` on of the row of rank `source`, or
// of the reduced row.
struct Piece {
  static constexpr int kReduced = -1;
  int source;
  std::uint64_t at, first, count;
};
std::vector<Piece> expected(const Job& job, int rank, int world);
bool reads_input(const Job& job, int rank);  // of a scatter only the root's is read

struct Buffers {
  std::byte* in;
  std::byte* out;
};
// In place: where in a buffer of max(in_count, out_count) elements the two lie.
Buffers in_place(const Job& job, std::byte* buffer, int rank, int world);

// Enqueues it; appends the ids. A dt_status.
int start(dt_comm* comm, const Job& job, const Buffers& buffers, std::vector<dt_work>& works);

}  // namespace dtl::ring
