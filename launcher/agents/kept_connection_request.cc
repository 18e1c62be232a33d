// Single blanks separate the words. No word contains one: host and user names are words of a
// hostfile, and check_agent_path() refuses paths with blanks.
#include "launcher/agents/kept_connection_request.h"

#include <string>

#include "base/text.h"
#include "wire/messages.h"

namespace dtl {
namespace {

std::string version_word() {
  return std::string(DTL_VERSION) + "/" + std::to_string(kProtocol);
}

}  // namespace

std::string to_line(const KeepRequest& request) {
  std::string line = "DTLAUNCH-UP ";
  // A new dtlaunch must be able to end the holder of an old one, so this line has no version.
  if (request.what == KeepRequest::What::kDown) return line + "* down\n";  // of any version
  line += version_word();
  if (request.what == KeepRequest::What::kHosts) return line + " hosts\n";
  const Host& host = request.host;
  return line + " agent " + host.name + " " + std::to_string(host.port) + " " +
         (host.user.empty() ? "-" : host.user) + " " + request.agent_path + "\n";
}

std::optional<KeepRequest> parse_keep_request(const std::string& line) {
  const auto words = split(line, ' ');
  if (words.size() < 3 || words[0] != "DTLAUNCH-UP") return std::nullopt;
  KeepRequest request;
  if (words[2] == "down" && words.size() == 3) {
    request.what = KeepRequest::What::kDown;
    return request;
  }
  // After "down", which any version understands.
  if (words[1] != version_word()) return std::nullopt;
  if (words[2] == "hosts" && words.size() == 3) {
    request.what = KeepRequest::What::kHosts;
    return request;
  }
  const auto port = words.size() == 7 ? parse_integer(words[4], 0, 65535) : std::nullopt;
  if (words[2] != "agent" || !port) return std::nullopt;
  request.host.name = words[3];
  request.host.port = static_cast<int>(*port);
  request.host.user = words[5] == "-" ? "" : words[5];
  request.agent_path = words[6];
  return request;
}

bool same_login(const Host& a, const Host& b) {
  return a.name == b.name && a.port == b.port && a.user == b.user;
}

}  // namespace dtl
