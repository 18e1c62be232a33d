#pragma once
// SshStream: the AgentStream of a program at the far end of an ssh channel. A session may have
// several channels (`dtlaunch up` needs that), each with its own stream.

#include <memory>
#include <string>

#include "launcher/ssh/session.h"
#include "launcher/streams/agent_stream.h"

namespace dtl {

class SshStream : public AgentStream {
 public:
  // Puts bytes back: the next read() returns them.
  virtual void unread(std::string bytes) = 0;
};

// What closing the stream closes. kChannelOnly is for sessions that others still use.
enum class ChannelEnd { kWholeSession, kChannelOnly };

// Opens a channel of a logged-in session and runs `command` there through the user's login shell;
// returns when the server has agreed to run it. Throws Error(kOs) if it refuses,
// Error(kUnreachable) at the session's deadline.
awaitable<std::unique_ptr<SshStream>> run_over_ssh(std::shared_ptr<SshSession> session,
                                                   std::string command,
                                                   ChannelEnd end = ChannelEnd::kWholeSession);

}  // namespace dtl
