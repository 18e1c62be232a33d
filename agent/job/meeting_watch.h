#pragma once
// MeetingWatch: whether a program of PyTorch has met. N ranks of which each works by itself end as
// well as N that train together, with N results; so that is seen from outside and said. At rank 0,
// on whose node all meet.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/processes/process_table.h"

namespace dtl {

class MeetingWatch {
 public:
  // environment: rank 0's, NAME=VALUE each; it says where to meet.
  explicit MeetingWatch(const std::vector<std::string_view>& environment);

  void started(pid_t rank) { rank_ = rank; }
  void look();  // once a second
  // The rank has ended with status 0: a line for the user when it had loaded PyTorch and neither
  // met anybody at MASTER_PORT, nor listened itself, nor used libdtring or MPI.
  std::optional<std::string> ended();

 private:
  bool is_over() const { return world_ < 2 || port_ == 0 || has_met_; }
  void look_at(std::span<const Process> processes);
  void look_at_maps(pid_t process);
  void look_at_sockets(std::span<const pid_t> own);

  int world_ = 0;
  std::uint16_t port_ = 0;
  std::string where_;  // MASTER_ADDR:MASTER_PORT
  pid_t rank_ = 0;     // 0: it does not run
  std::chrono::seconds since_start_{0};
  bool has_torch_ = false, has_met_ = false;
};

}  // namespace dtl
