#pragma once
// The agent's marker line: its first line on standard output, after whatever the login shell
// printed: "\nDTLAUNCH-AGENT <protocol> <version> <32 hex digits>\n". After it both directions
// carry frames. Untrusted texts in the result are printable (base/text.h). And the marker lines of
// a push, which come before it.

#include <optional>
#include <string>
#include <string_view>

namespace dtl {

struct Greeting {
  unsigned protocol = 0;
  std::string version;
  std::string nonce;
};

std::string to_line(const Greeting& greeting);

// Finds the marker in the bytes so far. noise: the text before it, shown to the user; rest: the
// bytes after it, the first frames.
struct GreetingFound {
  Greeting greeting;
  std::string noise;
  std::string rest;
};
// nullopt: not there yet. Throws Error(kVersion) after kMaxShellNoiseBytes without a marker.
std::optional<GreetingFound> find_greeting(std::string_view received);

// The lines that the remote side of a push writes on standard output, after whatever the login
// shell printed:
//  want ARCHITECTURE CACHE   no suitable dtagent is there: send dtagent
//  send                      dtagent has arrived completely: send the other files
//  there FOLDER              the programs are in FOLDER
// Each is one line "\nDTLAUNCH-PUSH ...\n". The files follow as plain bytes, without separators.
constexpr std::string_view kPushMarker = "\nDTLAUNCH-PUSH ";

}  // namespace dtl
