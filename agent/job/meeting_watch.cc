// Looking periodically can miss a short connection. So every sign of a connection counts, however
// weak, and silences the watch for good.
#include "agent/job/meeting_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "agent/job/rank_observer.h"
#include "agent/node/tcp_connections.h"
#include "base/text.h"

namespace dtl {
namespace {

using namespace std::chrono_literals;

constexpr auto kOften = 60s;   // look every second for this long
constexpr auto kPeriod = 10s;  // then this often; the kernel remembers closed connections for 60 s
constexpr int kMostRanks = 1 << 20;
constexpr std::uint16_t kLeastPort = 1024;  // lower ones are services, e.g. downloads

std::string_view value_in(const std::vector<std::string_view>& environment, std::string_view name) {
  for (const std::string_view line : environment) {
    if (line.size() > name.size() && line.starts_with(name) && line[name.size()] == '=') {
      return line.substr(name.size() + 1);
    }
  }
  return {};
}

}  // namespace

MeetingWatch::MeetingWatch(const std::vector<std::string_view>& environment) {
  const std::string port(value_in(environment, "MASTER_PORT"));
  const std::string world(value_in(environment, "WORLD_SIZE"));
  // A missing or invalid value switches the watch off.
  world_ = static_cast<int>(parse_integer(world, 1, kMostRanks).value_or(1));
  port_ = static_cast<std::uint16_t>(parse_integer(port, 1, UINT16_MAX).value_or(0));
}

void MeetingWatch::started(pid_t rank) {
  rank_ = rank;
}

void MeetingWatch::note_old_connections() {
  if (is_over() || rank_ == 0) return;
  for (const TcpEnd& end : tcp_ends().value_or(std::vector<TcpEnd>())) {
    if (end.is_over) over_before_.emplace(end.local_port, end.peer_port);
  }
}

void MeetingWatch::look() {
  if (is_over() || rank_ == 0) return;
  since_start_ += 1s;
  const bool early = since_start_ < kOften;
  // A program that has not loaded PyTorch within a minute most likely never will.
  if (early || (has_torch_ && since_start_ % kPeriod == 0s)) look_at(scan_processes());
}

void MeetingWatch::look_at(std::span<const Process> processes) {
  std::vector<pid_t> own;
  for (const Process& process : processes) {
    // The rank leads a session; torchrun and similar programs start Python below it.
    if (process.session == rank_ && process.alive) own.push_back(process.pid);
  }
  for (const pid_t process : own) look_at_maps(process);
  if (has_torch_) look_at_sockets(own);
}

void MeetingWatch::look_at_maps(pid_t process) {
  std::ifstream maps(fmt::format("/proc/{}/maps", process));
  for (std::string line; !has_met_ && std::getline(maps, line);) {
    const std::string_view name = std::string_view(line).substr(line.rfind('/') + 1);
    has_torch_ = has_torch_ || name.starts_with("libtorch_cpu.so");
    // MPI and libdtring connect ranks by themselves, at other ports.
    has_met_ = name.starts_with("libmpi") || line.find(kStatePageName) != line.npos;
  }
}

// Ranks that meet through a file may use any port, for less than a second. A closed connection
// belongs to no process any more, so it may have been the rank's.
bool MeetingWatch::may_have_been_ours(const TcpEnd& end) const {
  return end.is_over && end.local_port >= kLeastPort && end.peer_port >= kLeastPort &&
         !over_before_.contains({end.local_port, end.peer_port});
}

void MeetingWatch::look_at_sockets(std::span<const pid_t> own) {
  const auto ends = tcp_ends();
  if (!ends) {
    has_met_ = true;  // unknown, so stay silent
    return;
  }
  std::set<std::uint64_t> sockets;
  for (const pid_t process : own) sockets.merge(sockets_of(process));
  has_met_ = has_met_ || std::any_of(ends->begin(), ends->end(), [&](const TcpEnd& end) {
               return end.local_port == port_ || end.peer_port == port_ ||
                      (end.listens && sockets.contains(end.inode)) || may_have_been_ours(end);
             });
}

std::optional<std::string> MeetingWatch::ended() {
  rank_ = 0;
  // The kernel remembers connections closed in the last minute.
  if (has_torch_ && !is_over()) look_at_sockets({});
  if (!has_torch_ || is_over()) return std::nullopt;
  return fmt::format(
      "rank 0 of {} has loaded PyTorch, and no connection to the others was seen: each "
      "seems to have worked by itself. Does the program call init_process_group()?",
      world_);
}

}  // namespace dtl
