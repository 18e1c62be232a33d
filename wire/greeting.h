#pragma once
// The agent's marker line, the first thing it writes on standard output, after anything that the
// login shell printed: "\nDTLAUNCH-AGENT <protocol> <version> <32 hex digits>\n". From the next
// byte on both directions carry frames. Texts that a stranger may have written are printable
// (base/text.h) in the result.

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

// Finds the marker in what has arrived so far. noise is what came before it (shown to the user),
// rest the bytes after it (the first frames).
struct GreetingFound {
  Greeting greeting;
  std::string noise;
  std::string rest;
};
// nullopt: not there yet. Throws Error(kVersion) after kMaxShellNoiseBytes without a marker.
std::optional<GreetingFound> find_greeting(std::string_view received);

}  // namespace dtl
