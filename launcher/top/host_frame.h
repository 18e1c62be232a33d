#pragma once
// HostFrame: what dtagent --watch says about one host at one moment (agent/watch/watch_jobs.h has
// the form of the text). Pure. A host may send anything, so numbers are checked and texts
// printable.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/jobs/cores_view.h"
#include "wire/messages.h"

namespace dtl {

struct FrameLauncher {
  std::string job, state;
  int ranks = 0;
  std::int64_t age_s = 0;
  std::string hosts;  // as named in the hostfile: "node1,node2"; "-": unknown
  std::string command;
};

struct FrameAgent {
  std::string job;
  int ranks = 0;  // that it has started or will start
  std::int64_t age_s = 0;
};

struct FrameRank {
  std::string job;
  int rank = -1;  // -1: unknown
  RankReport report;
  std::uint64_t sent = 0;  // bytes over TCP to other hosts; only their growth means something
  std::string program;
};

struct HostFrame {
  std::int64_t at_ms = 0;          // of the host's own clock
  double load = 0;                 // of the last minute
  std::optional<NodeCores> cores;  // nullopt: unknown
  std::vector<FrameLauncher> launchers;
  std::vector<FrameAgent> agents;
  std::vector<FrameRank> ranks;
};

// text: the lines of one frame, "end" included. Skips lines that it does not know; nullopt if it is
// not a frame.
std::optional<HostFrame> parse_host_frame(std::string_view text);

// Cuts a host's bytes into frames.
class HostFrameReader {
 public:
  // Bytes of one frame. 65,535 ranks do not run on one host.
  static constexpr std::size_t kMostBytes = 4 << 20;

  // The frames that are complete with these bytes; the newest one is the last. Throws
  // Error(kVersion), without the host's name, if a frame does not end.
  std::vector<std::string> feed(std::string_view bytes);

 private:
  std::string pending_;
};

}  // namespace dtl
