#pragma once
// Programs brought to hosts over the connection that starts them: the launcher's half of a push.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "launcher/agents/agent_command.h"
#include "launcher/agents/bundle.h"
#include "launcher/ssh/stream.h"
#include "plan/request/host.h"

namespace dtl {

// Of a stream that runs push_command(): sends what it asks for. Returns when the agent has greeted
// (everything read so far is given back to the stream) or has said where it is. Calls `progress`
// whenever bytes have moved. Throws Error(kConfig) for another architecture, Error(kCannotWrite)
// when the host cannot keep the files, with its path and reason.
awaitable<Pushed> push_bundle(SshStream& stream, Host host, std::shared_ptr<const Bundle> bundle,
                              AfterPush after, std::function<void()> progress);

std::string new_push_token();

// What the far side has said after kPushMarker: "want", "x86_64 /root/.cache/dtlaunch".
struct PushAnswer {
  std::string word, rest;
};
// The first whole answer in what has arrived, which is then taken away with all before it.
std::optional<PushAnswer> take_push_answer(std::string& received);

}  // namespace dtl
