#pragma once
// Programs brought to hosts over the connection that starts them: the launcher's half of a push.
// The other half is push_command() and agent/entrance/receive_push.h. Nothing needs to be installed
// on such a host.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "launcher/agents/agent_command.h"
#include "launcher/agents/bundle.h"
#include "launcher/ssh/stream.h"
#include "plan/request/host.h"

namespace dtl {

// For a stream that runs push_command(): sends what it asks for. Returns when the agent has greeted
// or has said where it is; all that was read of a greeting is given back to the stream. Calls
// `progress` whenever bytes have moved. Throws Error(kConfig) for another architecture and
// Error(kCannotWrite), with path and reason, when the host cannot keep the files.
awaitable<Pushed> push_bundle(SshStream& stream, Host host, std::shared_ptr<const Bundle> bundle,
                              AfterPush after, std::function<void()> progress);

std::string new_push_token();

// What the far side has said after kPushMarker: "want", "x86_64 /root/.cache/dtlaunch".
struct PushAnswer {
  std::string word, rest;
};
// The first whole answer in `received`, which is removed from it with all that came before.
// nullopt: none yet.
std::optional<PushAnswer> take_push_answer(std::string& received);

}  // namespace dtl
