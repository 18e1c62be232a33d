// The own values are taken from the caller's buffer, those of others from their boards. A caller
// may have given one buffer for both ends: what is overwritten here has been shown before.
#include "ring/operation/board_values.h"

#include <array>
#include <cassert>
#include <cstring>
#include <vector>

#include "ring/arithmetic/reduce.h"

namespace dtl::ring {
namespace {

std::uint64_t shown_bytes(const Operation& operation, std::size_t rank, std::size_t world) {
  switch (operation.request().opcode) {
    case Opcode::kAllgather:
      return operation.counts()[rank] * operation.element();
    case Opcode::kReduceScatter:
      return operation.bytes() * world;
    default:
      return operation.bytes();
  }
}

// Element by element over all ranks. from: where the part to sum begins in what each rank shows.
void sum(const ShmBoard& board, std::uint64_t number, const Operation& operation,
         std::uint64_t from) {
  const Request& request = operation.request();
  if (request.count == 0) return;
  const std::size_t world = board.locals();
  const std::uint64_t shown = shown_bytes(operation, board.own(), world);
  const auto values_of = [&](std::size_t rank) {
    return (rank == board.own() ? request.in : board.values(rank, number, shown)) + from;
  };
  constexpr std::size_t kFew = 16;  // no allocation
  std::array<Operand, kFew> few;
  std::vector<Operand> many(world > kFew ? world : 0);
  Operand* operands = world > kFew ? many.data() : few.data();
  for (std::size_t rank = 0; rank < world; ++rank) operands[rank].data = values_of(rank);
  combine(request.dtype, request.op, request.out, operands, world, request.count);
  if (request.op == DT_AVG) divide(request.dtype, request.out, request.count, world);
}

void gather(const ShmBoard& board, std::uint64_t number, const Operation& operation) {
  std::byte* out = operation.request().out;
  for (std::size_t rank = 0; rank < board.locals(); ++rank) {
    const std::uint64_t bytes = shown_bytes(operation, rank, board.locals());
    const std::byte* from =
        rank == board.own() ? operation.request().in : board.values(rank, number, bytes);
    if (bytes > 0 && from != out) std::memcpy(out, from, bytes);
    out += bytes;
  }
}

}  // namespace

void show_on(ShmBoard& board, std::uint64_t number, const Operation& operation) {
  board.show(number, operation.header(), operation.request().in,
             shown_bytes(operation, board.own(), board.locals()));
}

void take_from(const ShmBoard& board, std::uint64_t number, const Operation& operation) {
  switch (operation.request().opcode) {
    case Opcode::kAllreduce:
      return sum(board, number, operation, 0);
    case Opcode::kReduceScatter:
      return sum(board, number, operation, board.own() * operation.bytes());
    case Opcode::kAllgather:
      return gather(board, number, operation);
    default:
      assert(operation.request().opcode == Opcode::kBarrier);
  }
}

}  // namespace dtl::ring
