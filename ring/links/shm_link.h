#pragma once
// ShmLink: a link to a rank of the same node. Frames are slots in the sender's segment. The
// receiver's position, in its own segment, tells the sender which payloads it has read. So each
// counter has one writer, and no lock is needed between processes. How a payload is read that lies
// in no slot, PeerMemory knows.
//
// A peer may be wrong or dead at any moment: whatever it wrote is checked before it is used.

#include <array>
#include <cstddef>
#include <cstdint>

#include "ring/links/peer_memory.h"
#include "ring/links/shm_node.h"

namespace dtl::ring {

class ShmLink : public Link {
 public:
  ShmLink(ShmNode& share, int local, int rank);
  ~ShmLink() override;

  bool can_begin(Lane lane) const override;
  void begin(const FrameHead& head, const OperationHeader* operation, const std::byte* payload,
             std::byte* answer) override;
  bool step(Sink& sink) override;
  bool is_sent() const override;
  bool has_ended() const override { return is_broken_; }
  // A rank that leaves withdraws its memory (ShmNode), which says the same.
  bool say_farewell(std::uint64_t) override { return true; }
  std::size_t frame_bytes(Lane lane, const std::byte* data, const std::byte* answer,
                          std::uint64_t bytes) const override;
  // Something has changed since the last step: whoever drives must not sleep.
  bool has_news() const;

 private:
  struct Way {  // one lane
    // Frames of this rank: begun, and reported by Sink::sent(). Frames of the peer: taken.
    std::uint64_t produced = 0, reported = 0, consumed = 0;
    std::uint64_t seen_consumed = 0, seen_produced = 0;  // the peer's, at the last step
    struct Sent {
      FrameHead head;
      bool is_inline = false;
      std::byte* answer = nullptr;  // where it goes
    };
    std::array<Sent, kSlots> sent;
  };
  bool report_sent(Lane lane, Way& way, Sink& sink);
  bool take_frames(Lane lane, Way& way, Sink& sink);
  std::byte* read_payload(const Slot& slot, Lane lane, std::uint64_t number, std::byte* target,
                          Sink& sink);
  bool is_at_rest() const;
  bool is_in_place(const std::byte* payload, const std::byte* answer) const;

  ShmNode& share_;
  const std::size_t local_;
  const int rank_;
  const ShmNode::Peer& peer_;
  Counters& own_counters_;
  Counters& peer_counters_;
  PeerMemory memory_;
  std::array<Way, kLanes> ways_;
  bool is_broken_ = false;
  bool is_idle_ = false;    // nothing moves unless the peer's counters do
  bool owes_ring_ = false;  // for what was published in this step: a fence is slow
};

}  // namespace dtl::ring
