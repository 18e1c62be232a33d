#pragma once
// AgentStream: the bytes to and from an agent, however it was started.

#include <string>

#include "wire/byte_stream.h"

namespace dtl {

// A ByteStream that also knows how its far end failed.
class AgentStream : public ByteStream {
 public:
  // What the far side wrote on standard error so far, at most the last 16 KiB.
  virtual std::string standard_error() const = 0;
  // After the end of the stream: "exit status 127", "killed by SIGKILL", "connection lost"; empty
  // when unknown or not ended.
  virtual std::string ending() const = 0;
};

}  // namespace dtl
