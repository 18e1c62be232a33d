#pragma once
// HostTalk: the launcher's half of a conversation with a shell or dtagent on a host: lines from
// there that begin with a marker, bytes to there. Of one push or one folder; one io_context thread.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "launcher/streams/agent_stream.h"

namespace dtl {

// A line after its marker: "want", "x86_64 /root/.cache/dtlaunch".
struct HostAnswer {
  std::string word, rest;
};

class HostTalk {
 public:
  // stream: must outlive this. Calls `progress` whenever bytes have moved.
  HostTalk(AgentStream& stream, std::function<void()> progress)
      : stream_(stream), progress_(std::move(progress)) {}

  // Throws Error if the connection fails. A host that has given up closes its input, and says why
  // on standard error: then this sets has_refused(), so that the caller reads that to its end.
  awaitable<void> say(std::string bytes);
  bool has_refused() const { return has_refused_; }  // the host takes no more

 private:
  AgentStream& stream_;
  std::function<void()> progress_;
  bool has_refused_ = false;
};

// Removes the first complete answer and everything before it from `received`. nullopt: none yet.
// marker: a newline and the word that the line begins with. The texts are as the host sent them.
std::optional<HostAnswer> take_answer(std::string& received, std::string_view marker);

}  // namespace dtl
