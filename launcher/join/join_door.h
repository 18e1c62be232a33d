#pragma once
// JoinDoor: a JoinRoom's listening port and its unauthenticated callers. A caller has 3 s and 4 KiB
// to prove that it knows the job's token and to send a hello; 64 may try at a time. Other
// connections are closed without an answer, so a port scan costs the job little. Belongs to the
// room's thread.

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/fd.h"
#include "launcher/join/join_channel.h"
#include "launcher/join/join_listener.h"
#include "plan/request/request.h"
#include "wire/asio.h"
#include "wire/task_group.h"

namespace dtl {

class JoinDoor {
 public:
  struct Guests {
    // Judges a hello and sends the answer, within the caller's deadline. Returns a place, or none.
    std::function<awaitable<std::optional<std::size_t>>(std::shared_ptr<JoinChannel>,
                                                        std::string hello)>
        answer;
    // Serves a node that has a place, until its connection ends.
    std::function<awaitable<void>(std::size_t place, std::shared_ptr<JoinChannel>)> serve;
  };

  // Throws Error(kConfig) if none of the ports is free. `context` and `tasks` outlive it.
  JoinDoor(asio::io_context& context, TaskGroup& tasks, PortRange ports, std::string token,
           Guests guests);

  int port() const { return listener_.port(); }  // from any thread
  // On the same port, because nodes look for it there. Retries while another process has the port.
  void open_again();
  void close();
  void lock();  // forever: open_again() then does nothing

 private:
  void take(Fd caller);
  awaitable<void> meet(std::shared_ptr<Fd> socket);
  awaitable<void> try_to_open();

  asio::io_context& context_;
  TaskGroup& tasks_;
  const std::string token_;
  const Guests guests_;
  // Unauthenticated callers now.
  int strangers_ = 0;
  bool locked_ = false, trying_ = false;  // trying_: to open again
  JoinListener listener_;
};

}  // namespace dtl
