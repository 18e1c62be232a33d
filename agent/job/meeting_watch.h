#pragma once
// MeetingWatch: whether rank 0 of a PyTorch program has connected to other ranks. Ranks that never
// connect train N separate models and still exit with status 0, so the user must be told. Rank 0's
// node sees every connection to MASTER_PORT. In doubt the watch stays silent.

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/node/tcp_connections.h"
#include "agent/processes/process_table.h"

namespace dtl {

class MeetingWatch {
 public:
  // environment: rank 0's, NAME=VALUE each; MASTER_PORT gives the port, WORLD_SIZE whether there
  // are other ranks.
  explicit MeetingWatch(const std::vector<std::string_view>& environment);

  void started(pid_t rank);
  // Connections that are over by now are not the rank's. Call it soon after the start, but not
  // while ranks start: the kernel visits its whole table of connections, which takes up to 1 ms.
  void note_old_connections();
  void look();  // once a second
  // Call it when the rank has exited with status 0. Returns a line for the user if the rank loaded
  // PyTorch and nothing suggests that it met another rank. These do: a connection at MASTER_PORT, a
  // listening socket of the rank, libdtring, MPI, or another connection that ended on this node
  // while the rank ran.
  std::optional<std::string> ended();

 private:
  bool is_over() const { return world_ < 2 || port_ == 0 || has_met_; }
  void look_at(std::span<const Process> processes);
  void look_at_maps(pid_t process);
  void look_at_sockets(std::span<const pid_t> own);
  bool may_have_been_ours(const TcpEnd& end) const;

  int world_ = 0;
  std::uint16_t port_ = 0;
  pid_t rank_ = 0;  // 0: not running
  std::chrono::seconds since_start_{0};
  // has_met_: the rank may have met another one, or sockets cannot be read. This ends the watch.
  bool has_torch_ = false, has_met_ = false;
  std::set<std::pair<std::uint16_t, std::uint16_t>> over_before_;  // ports of connections
};

}  // namespace dtl
