#pragma once
// Reconnection: what --reconnect adds to the launcher's connection. It waits behind a LinkDoor for
// a launcher that was lost. Owned by the session; one io_context thread. It does not read messages.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agent/job/link_door.h"
#include "wire/asio.h"
#include "wire/connection.h"
#include "wire/task_group.h"

namespace dtl {

class Reconnection {
 public:
  // back: the launcher has come back. All references outlive this.
  Reconnection(asio::io_context& context, TaskGroup& tasks, Connection& connection,
               std::function<void()> back);

  // The next message, over as many streams as it takes, while another one may come. nullopt: the
  // conversation is over. Throws Error as Connection::receive does, where no other stream may come.
  awaitable<std::optional<Message>> receive();
  // From here on the launcher may come back. False when there is no place for the socket; the
  // launcher has been told then, and the job goes on without. Throws Error(kVersion) the second
  // time.
  bool agree(const Reconnect& agreed);
  void end();  // from here on no launcher can come back

 private:
  void resume(const Resume& offer, std::unique_ptr<ByteStream> stream, std::string received);

  asio::io_context& context_;
  TaskGroup& tasks_;
  Connection& connection_;
  const std::function<void()> back_;
  std::optional<LinkDoor> door_;  // once agreed
  std::string token_;             // what the launcher says to come in
};

}  // namespace dtl
