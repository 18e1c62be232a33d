#pragma once
// UserListener: accepts every connection of this same user to a listening unix socket, and closes
// those of other users. Belongs to the io_context's thread.

#include <functional>

#include "base/fd.h"
#include "wire/asio.h"

namespace dtl {

class UserListener {
 public:
  using Taken = std::function<void(Fd peer)>;
  // refused: called once when connections of others were closed, however many; may be empty.
  UserListener(asio::io_context& context, Taken taken, std::function<void()> refused = {});

  void start(Fd listening);  // once
  void close();              // accepts nothing from now on

 private:
  void wait();
  bool take_all();  // false: out of descriptors

  asio::posix::stream_descriptor socket_;
  asio::steady_timer pause_;
  Taken taken_;
  std::function<void()> refused_;
};

}  // namespace dtl
