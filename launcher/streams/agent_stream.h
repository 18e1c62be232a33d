#pragma once
// AgentStream: the bytes to and from an agent, however it was started: as a child, over a socket or
// ssh, or in a scheduler's step. Code that reads and writes it (wire/connection.h,
// launcher/session) does not know which. Only the way to learn why the far end has ended differs.

#include <sys/types.h>

#include <string>
#include <string_view>

#include "wire/byte_stream.h"

namespace dtl {

// Endings for comparison, beside those of processes. Both mean that the agent may still run.
constexpr std::string_view kConnectionLost = "connection lost";
constexpr std::string_view kUpHasEnded = "the process of 'dtlaunch up' has ended";

// A ByteStream that also knows why its far end has ended.
class AgentStream : public ByteStream {
 public:
  // The far end's standard error so far, at most the last 16 KiB.
  virtual std::string standard_error() const = 0;
  // After the end of the stream: "exit status 127", "killed by SIGKILL", one of the above; empty if
  // unknown or not ended.
  virtual std::string ending() const = 0;
  // True if the agent has our standard input and passes it to its ranks.
  virtual bool has_our_input() const { return false; }
  // True if the agent is on this machine.
  virtual bool is_here() const { return false; }
  // The process of an agent on this machine; 0: unknown.
  virtual pid_t process() const { return 0; }
};

}  // namespace dtl
