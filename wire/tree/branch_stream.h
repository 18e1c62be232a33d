#pragma once
// BranchStream: the ByteStream of a node's branch, at either end of it: in dtlaunch, and in the
// node's agent. Its owner feeds what parcels bring and sends what is written as parcels. Both ends
// put TLS around it (kBranchPurpose), so that relays can neither read nor change what they pass on.
// Belongs to one io_context thread; the owner holds it as long as parcels of it may come.

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "wire/asio.h"
#include "wire/byte_stream.h"

namespace dtl {

class BranchStream final : public ByteStream {
 public:
  // Takes at most kMaxParcelBytes; returns when there is room for more. Throws Error(kIo) once the
  // branch is gone.
  using Send = std::function<awaitable<void>(std::string bytes)>;
  // closed: called once, by close(), unless the branch has ended already. Must not block.
  BranchStream(asio::io_context& context, Send send, std::function<void()> closed);

  void feed(std::string bytes);
  void end();  // the branch is lost: read() returns what was fed, and then the end
  bool has_ended() const { return ended_; }
  std::size_t unread_bytes() const { return received_.size(); }

  awaitable<std::string> read() override;
  awaitable<void> write_pieces(std::vector<std::string> pieces) override;
  void close() override;

 private:
  asio::steady_timer wake_;  // never expires; cancelled to wake the reader
  const Send send_;
  const std::function<void()> closed_;
  std::string received_;
  bool ended_ = false;
};

}  // namespace dtl
