#pragma once
// LinkDoor: the unix socket where a launcher that lost its connection reaches this agent again,
// through `dtagent --rejoin`. The socket has mode 0600, in this user's runtime folder, and checks
// the peer's user id. It only reads the offer; Reconnection checks the token and decides. Belongs
// to the io_context's thread.

#include <functional>
#include <memory>
#include <string>

#include "wire/asio.h"
#include "wire/byte_stream.h"
#include "wire/messages.h"
#include "wire/task_group.h"
#include "wire/user_listener.h"

namespace dtl {

class LinkDoor {
 public:
  // received: bytes after the offer. To refuse a stream, destroy it.
  using Taken = std::function<void(const Resume& offer, std::unique_ptr<ByteStream> stream,
                                   std::string received)>;
  // link: the launcher's name for this agent. Throws Error if the socket cannot be created, or
  // the name is not 16 hexadecimal digits.
  LinkDoor(asio::io_context& context, TaskGroup& tasks, Taken taken, const std::string& link);
  ~LinkDoor() { close(); }
  LinkDoor(const LinkDoor&) = delete;
  LinkDoor& operator=(const LinkDoor&) = delete;

  void close();  // accepts nobody from now on

 private:
  awaitable<void> hear(Fd peer);

  asio::io_context& context_;
  Taken taken_;
  std::string path_;  // empty: closed
  int waiting_ = 0;   // connections without an offer so far
  UserListener listener_;
};

}  // namespace dtl
