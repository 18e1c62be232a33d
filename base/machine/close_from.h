#pragma once

namespace dtl {

// Closes every descriptor from `first` on, also where the kernel has no close_range (before Linux
// 5.9). Safe between fork and exec. Descriptors that libraries or our parent have left open would
// otherwise keep pipes and sockets open in ranks.
void close_from(int first);

}  // namespace dtl
