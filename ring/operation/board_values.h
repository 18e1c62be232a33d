#pragma once
// The values of operations on the board (ShmBoard): what a rank shows, and what it makes of those
// of all ranks. Every rank does the whole work for itself, in order of rank, so all have the same
// bits. Pure, but for the buffers. Knows nothing of when the others have shown theirs.

#include <cstdint>

#include "ring/links/shm_board.h"
#include "ring/operation/operation.h"

namespace dtl::ring {

// As this entry of the board.
void show_on(ShmBoard& board, std::uint64_t number, const Operation& operation);
// All ranks show this entry, of the same operation.
void take_from(const ShmBoard& board, std::uint64_t number, const Operation& operation);

}  // namespace dtl::ring
