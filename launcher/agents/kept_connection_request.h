#pragma once
// A launcher's request to the holder of `dtlaunch up`: one line to the holder's socket, and one
// line back. Both ends must be dtlaunch of the same version; otherwise the holder says no. The
// client is kept_connection_client.h, the holder launcher/keep. Pure.

#include <optional>
#include <string>

#include "plan/request/host.h"

namespace dtl {

struct KeepRequest {
  // kAgent: an agent for a job. kDown: the holder must end. kHosts: which hosts it keeps.
  enum class What { kAgent, kDown, kHosts };
  What what = What::kAgent;
  Host host;               // kAgent: name, user and port count
  std::string agent_path;  // kAgent: on the host
};

// "DTLAUNCH-UP 0.1.0/2 agent node1 22 alice /opt/bin/dtagent\n"
std::string to_line(const KeepRequest& request);
// line: without its newline. nullopt if it is not a request, or one of another version.
std::optional<KeepRequest> parse_keep_request(const std::string& line);

// Whether ssh treats both as the same host. Ignores slots and other words of a hostfile's line.
bool same_login(const Host& a, const Host& b);

constexpr const char* kKeepYes = "ok\n";
constexpr const char* kKeepNo = "no\n";

}  // namespace dtl
