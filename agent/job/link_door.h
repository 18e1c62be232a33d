#pragma once
// LinkDoor: where a launcher that lost its connection to this agent comes back to, by way of
// `dtagent --rejoin`: a unix socket of mode 0600 in this user's runtime folder, whose other end is
// asked for its user id. It only reads the offer; whether the offer is taken, and what its token
// must be, is for Reconnection. Belongs to the io_context's thread.

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
  // received: what came after the offer. A stream that is not taken is closed by letting it go.
  using Taken = std::function<void(const Resume& offer, std::unique_ptr<ByteStream> stream,
                                   std::string received)>;
  // link: the name that the launcher has given to this agent. Throws Error when there is no place
  // for the socket, or its name is not 16 hexadecimal digits.
  LinkDoor(asio::io_context& context, TaskGroup& tasks, Taken taken, const std::string& link);
  ~LinkDoor() { close(); }
  LinkDoor(const LinkDoor&) = delete;
  LinkDoor& operator=(const LinkDoor&) = delete;

  void close();  // nobody comes in any more

 private:
  awaitable<void> hear(Fd peer);

  asio::io_context& context_;
  Taken taken_;
  std::string path_;  // empty: closed
  int waiting_ = 0;   // that have not made their offer yet
  UserListener listener_;
};

}  // namespace dtl
