#pragma once

namespace dtl {

// Closes every descriptor from `first` up, even if the kernel has no close_range (before Linux
// 5.9). Safe between fork and exec. Otherwise descriptors that libraries or our parent left open
// would keep pipes and sockets open in ranks.
void close_from(int first);

}  // namespace dtl
