#pragma once
// The collectives of dtring.h for dtring-perf: their arguments for a given size, the expected
// results of every rank, and their bandwidth. Bandwidth is computed as in nccl-tests, so that
// numbers are comparable. Pure, except start().

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
  std::uint64_t count = 0;  // as the call takes it: per rank, for count_per_rank
};

// The largest `count` whose size does not exceed `bytes`; at least 1.
std::uint64_t count_for(Collective collective, std::uint64_t bytes, std::size_t element_bytes,
                        int world);
// Elements of each buffer; the larger of both is the size for bandwidth.
std::uint64_t in_count(const Job& job, int world);
std::uint64_t out_count(const Job& job, int world);

// busbw = algbw * this: the part of the size that some rank must send or receive.
double bus_factor(Collective collective, int world);

// `count` elements of `out` from `at` equal those from `first` in the row of rank `source`, or in
// the reduced row.
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
// In place: the positions of both in a buffer of max(in_count, out_count) elements.
Buffers in_place(const Job& job, std::byte* buffer, int rank, int world);

// Enqueues it; appends the ids. Returns a dt_status.
int start(dt_comm* comm, const Job& job, const Buffers& buffers, std::vector<dt_work>& works);

}  // namespace dtl::ring
