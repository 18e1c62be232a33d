#pragma once
// PmixService: serves the ranks of one node until the agent closes the connection. One thread runs
// it; libpmix's threads only post to it.

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "agent/pmix/libpmix.h"
#include "agent/pmix/pmix_state.h"
#include "base/fd.h"
#include "wire/asio.h"
#include "wire/connection.h"

namespace dtl::pmix {

class PmixService {
 public:
  // link: to the agent. folder: absolute, private, for session files.
  PmixService(Fd link, std::string folder);

  // Returns at the end of the stream: true. False: it failed, and the agent got the reason as
  // Trouble.
  bool run();

 private:
  awaitable<void> serve();
  awaitable<void> serve_messages();
  awaitable<void> write_outbox();
  awaitable<void> write_queue();
  void start(const ServePmix& job);
  void perform(std::vector<Effect> effects);
  void put(std::variant<Message, Acknowledge> entry);

  std::string folder_;
  asio::io_context context_;
  Connection connection_;
  std::optional<PmixState> state_;
  std::optional<LibPmix> library_;
  // Messages, and answers that must wait until these are written: a rank that aborts ends after its
  // answer, and its news must come first.
  std::deque<std::variant<Message, Acknowledge>> outbox_;
  asio::steady_timer wake_;  // never expires; cancelled when the outbox gets something
  bool over_ = false, failed_ = false;
};

}  // namespace dtl::pmix
