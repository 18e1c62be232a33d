#pragma once
// What a launcher asks of the connections that `dtlaunch up` keeps: one line to the holder's
// socket, and one line back. Both are dtlaunch of the same version, or the answer is no. Pure.

#include <optional>
#include <string>

#include "plan/request/host.h"

namespace dtl {

struct KeepRequest {
  enum class What { kAgent, kDown, kHosts };
  What what = What::kAgent;
  Host host;               // kAgent: name, user and port count
  std::string agent_path;  // kAgent: on the host
};

// "DTLAUNCH-UP 0.1.0/2 agent node1 22 alice /opt/bin/dtagent\n"
std::string to_line(const KeepRequest& request);
// Without its line end. nullopt when it is no request, or of another version.
std::optional<KeepRequest> parse_keep_request(const std::string& line);

// The same host, as far as ssh is concerned.
bool same_login(const Host& a, const Host& b);

constexpr const char* kKeepYes = "ok\n";
constexpr const char* kKeepNo = "no\n";

}  // namespace dtl
