#pragma once
// Pushes programs to hosts over the connection that starts them: the launcher's half. The host's
// half is push_command() and agent/entrance/receive_push.h. Such a host needs nothing installed.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "launcher/agents/agent_command.h"
#include "launcher/agents/bundle.h"
#include "launcher/agents/push_feeds.h"
#include "launcher/ssh/stream.h"
#include "launcher/streams/host_talk.h"
#include "plan/request/host.h"

namespace dtl {

// Sends what a stream that runs push_command() asks for. Returns when the agent has greeted or has
// said where it is; the bytes of a greeting are given back to the stream. Calls `progress` whenever
// bytes have moved. Throws Error(kConfig) for an architecture without programs here, and
// Error(kCannotWrite), with path and reason, if the host cannot keep the files. feeds: null if the
// launcher sends everything.
awaitable<Pushed> push_bundle(SshStream& stream, Host host, std::shared_ptr<const Bundles> bundles,
                              std::shared_ptr<PushFeeds> feeds, AfterPush after,
                              std::function<void()> progress);

std::string new_push_token();

// take_answer() of kPushMarker, printable: "want", "x86_64 /root/.cache/dtlaunch".
std::optional<HostAnswer> take_push_answer(std::string& received);

// Refuses a host of an architecture without programs here: Error(kConfig) with where they were
// looked for, and what to do. architecture: as the host said, printable.
Error no_programs_for(const std::string& architecture, const Host& host, const Bundles& bundles);

// Of a host that gives the programs to others: "10.0.0.7 40123". nullopt if it is anything but a
// numeric address and a port: other hosts' shells get both in a command (kFetch in
// agent_command.cc), and a host must not be able to run anything on another.
struct SeederPlace {
  std::string address;
  std::uint16_t port = 0;
};
std::optional<SeederPlace> parse_seeder_place(const std::string& text);

}  // namespace dtl
