#pragma once
// SshStream: the AgentStream of a program that runs at the far end of an ssh channel. A session may
// have several channels (`dtlaunch up` needs that), each a stream of its own.

#include <memory>
#include <string>

#include "launcher/ssh/session.h"
#include "launcher/streams/agent_stream.h"

namespace dtl {

class SshStream : public AgentStream {
 public:
  // Gives bytes back: the next read() returns them.
  virtual void unread(std::string bytes) = 0;
};

// What closing the stream closes.
// kChannelOnly is for sessions that others go on using.
enum class ChannelEnd { kWholeSession, kChannelOnly };

// Opens a channel of a session that is logged in and runs `command` there through the user's login
// shell; returns when the server has agreed to run it. Throws Error(kOs) where it does not, and
// Error(kUnreachable) at the session's deadline.
awaitable<std::unique_ptr<SshStream>> run_over_ssh(std::shared_ptr<SshSession> session,
                                                   std::string command,
                                                   ChannelEnd end = ChannelEnd::kWholeSession);

}  // namespace dtl
