#pragma once
// Frames of hosts for the tests of dtlaunch top.

#include <string>

#include "launcher/top/host_frame.h"

namespace dtl::top_tests {

constexpr const char* kJob = "3f2a91c07be4d518";

// cpu_ms and bytes grow with `at_ms`: half a core, 1 MB/s.
inline std::string rank_lines(int rank, int at_ms, const std::string& state, int begun,
                              int completed, int world = 4) {
  const std::string number = std::to_string(rank);
  return "rank " + std::string(kJob) + " " + number + " 71" + number + " " + state + " " +
         std::to_string(at_ms / 2) + " 1300000 12 " + std::to_string(at_ms * 1000) +
         " python3.11\ncomm 77 " + number + " " + std::to_string(world) + " " +
         std::to_string(begun) + " 1 " + std::to_string(completed) + " " +
         std::to_string(at_ms * 2000) + "\n";
}

inline std::string frame_text(int at_ms, const std::string& lines) {
  return "frame " + std::to_string(at_ms) + " 150\n" + lines + "end\n";
}

inline HostFrame frame(int at_ms, const std::string& lines) {
  return parse_host_frame(frame_text(at_ms, lines)).value();
}

}  // namespace dtl::top_tests
