#pragma once
// Pushes programs to hosts over the connection that starts them: the launcher's half. The host's
// half is push_command() and agent/entrance/receive_push.h. Such a host needs nothing installed.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "launcher/agents/agent_command.h"
#include "launcher/agents/bundle.h"
#include "launcher/agents/push_feeds.h"
#include "launcher/ssh/stream.h"
#include "plan/request/host.h"

namespace dtl {

// Sends what a stream that runs push_command() asks for. Returns when the agent has greeted or has
// said where it is; the bytes of a greeting are given back to the stream. Calls `progress` whenever
// bytes have moved. Throws Error(kConfig) for another architecture and Error(kCannotWrite), with
// path and reason, if the host cannot keep the files. feeds: null if the launcher sends everything.
awaitable<Pushed> push_bundle(SshStream& stream, Host host, std::shared_ptr<const Bundle> bundle,
                              std::shared_ptr<PushFeeds> feeds, AfterPush after,
                              std::function<void()> progress);

std::string new_push_token();

// The host's answer after kPushMarker: "want", "x86_64 /root/.cache/dtlaunch".
struct PushAnswer {
  std::string word, rest;
};
// Removes the first complete answer and everything before it from `received`. nullopt: none yet.
std::optional<PushAnswer> take_push_answer(std::string& received);

// Of a host that gives the programs to others: "10.0.0.7 40123". nullopt if it is anything but a
// numeric address and a port: other hosts' shells get both in a command (kFetch in
// agent_command.cc), and a host must not be able to run anything on another.
struct SeederPlace {
  std::string address;
  std::uint16_t port = 0;
};
std::optional<SeederPlace> parse_seeder_place(const std::string& text);

}  // namespace dtl
