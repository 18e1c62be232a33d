#pragma once
// Executor: moves the active operations over the links, without blocking: a FrameSender begins
// frames, a FrameReceiver takes arriving ones. Used by the driving thread. Knows nothing of control
// lines and of what follows from a failure: it reports LinkFindings. Links call it as their Sink,
// within step().

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "ring/engine/active_operations.h"
#include "ring/engine/frame_buffers.h"
#include "ring/engine/frame_receiver.h"
#include "ring/engine/frame_sender.h"
#include "ring/engine/link_findings.h"
#include "ring/links/link.h"
#include "ring/links/node_map.h"
#include "ring/links/shm_board.h"
#include "ring/links/tcp_link.h"

namespace dtl::ring {

class Executor : public Sink, public Waker {
 public:
  // board: of this node; null: ranks of other nodes take part.
  Executor(const NodeMap& map, ShmBoard* board);

  // Adds a connected link, which is stepped until it wants no step any more.
  void add_link(int peer, std::unique_ptr<Link> link);
  // Adds a connection to the TCP link to this peer, which it makes if there is none.
  TcpLink& add_stream(int peer, Lane lane, std::uint32_t number, Channel channel);
  // Everything that the peer has sent was read. True if there is no link.
  bool has_read_all(int peer) const;
  // To all peers, with no active operation; false: could not be sent completely now.
  bool say_farewell(std::uint64_t completed);

  // True if anything moved.
  bool step();
  // No operation is active, and nothing is left to handle of what was found.
  bool is_at_rest() const { return active_.is_empty() && !findings_.has_any(); }
  // Shows this operation on the board, while none is active, and completes it if the peers show
  // theirs soon. 0: it is complete; else begin it as one that is shown as the entry with this
  // number.
  std::uint64_t run_on_board(const Operation& operation);
  // The newest active operation is on the board.
  bool waits_for_boards() const {
    return !active_.is_empty() && active_.all().back()->schedule.board.is_used;
  }
  // Then looks a few times for what others show: a step takes ten times as long as such a look.
  void await_entry() const {
    constexpr int kLooks = 16;
    if (!waits_for_boards()) return;
    for (int i = 0; i < kLooks && !board_->has_news(); ++i) {
    }
  }

  ActiveOperations& active() { return active_; }
  const ActiveOperations& active() const { return active_; }
  LinkFindings& findings() { return findings_; }

  struct Traffic {
    std::uint64_t bytes_sent = 0, bytes_received = 0;
  };
  Traffic traffic() const {
    return {sender_.bytes() + board_bytes_, receiver_.bytes() + board_bytes_};
  }
  std::uint64_t scratch_bytes() const { return active_.scratch_bytes() + buffers_.bytes(); }

  // Sink
  std::optional<std::byte*> admit(int peer, const FrameHead& head,
                                  const OperationHeader* operation) override;
  void arrived(int peer, const FrameHead& head, std::byte* payload) override;
  void sent(int peer, const FrameHead& head) override;
  void left(int peer, std::uint64_t completed) override;
  void broken(int peer, int error) override;
  // Waker
  void wake(int peer) override;

 private:
  bool step_links();
  bool advance_board();
  bool show_operations();
  bool look_at_boards();
  bool take_entry(std::size_t local);

  std::vector<std::unique_ptr<Link>> links_;  // by rank
  std::vector<TcpLink*> tcp_links_;           // by rank, those of them over TCP
  const int rank_;
  // The ranks whose links want a step, and by rank whether it is among them.
  std::vector<int> awake_;
  std::vector<bool> is_awake_;
  ActiveOperations active_;
  LinkFindings findings_;
  FrameBuffers buffers_;
  FrameSender sender_;
  FrameReceiver receiver_;
  ShmBoard* const board_;
  std::uint64_t entries_ = 0;      // shown on the board
  std::uint64_t board_bytes_ = 0;  // read from others there; as many were shown to them
};

}  // namespace dtl::ring
