#pragma once
// The agent's marker line: its first line on standard output, after whatever the login shell
// printed: "\nDTLAUNCH-AGENT <protocol> <version> <32 hex digits>\n". After it both directions
// carry frames. Untrusted texts in the result are printable (base/text.h).

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

}  // namespace dtl
