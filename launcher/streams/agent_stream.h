#pragma once
// AgentStream: the bytes to and from an agent, however it was started: a child, a socket, ssh, a
// scheduler's step. What reads and writes it (wire/connection.h, launcher/session) cannot tell
// these apart. The one thing that differs is how each learns why the far end has gone.

#include <sys/types.h>

#include <string>
#include <string_view>

#include "wire/byte_stream.h"

namespace dtl {

// Endings that others compare with, beside those of processes. Both mean that the agent may still
// run.
constexpr std::string_view kConnectionLost = "connection lost";
constexpr std::string_view kUpHasEnded = "the process of 'dtlaunch up' has ended";

// A ByteStream that also knows how its far end failed.
class AgentStream : public ByteStream {
 public:
  // What the far side wrote on standard error so far, at most the last 16 KiB.
  virtual std::string standard_error() const = 0;
  // After the end of the stream: "exit status 127", "killed by SIGKILL", one of the above; empty
  // when unknown or not ended.
  virtual std::string ending() const = 0;
  // True when the agent has our standard input, and gives it to its ranks that read.
  virtual bool has_our_input() const { return false; }
  // True when the agent is on this machine.
  virtual bool is_here() const { return false; }
  // Of an agent that is here: its process; 0 when that is not known.
  virtual pid_t process() const { return 0; }
};

}  // namespace dtl
