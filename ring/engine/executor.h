#pragma once
// Executor: moves the active operations over the links, without ever blocking. Knows nothing of
// control lines and of what becomes of a failure: it reports events. Used by the communication
// thread only.
//
// On every link and lane operations begin in issue order, and one begins when all of the one before
// has. So a frame that waits for its operation, or for room in a window, holds up nothing that
// others need in order to make progress.

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "ring/engine/active_operation.h"
#include "ring/engine/ended_operations.h"
#include "ring/links/link.h"
#include "ring/links/node_map.h"

namespace dtl::ring {

class Executor : public Sink {
 public:
  explicit Executor(const NodeMap& map);

  // A link that has come up; the executor asks for those that it misses.
  void add_link(int peer, std::unique_ptr<Link> link);

  // step() has found something out about a link, whether or not anything moved.
  bool has_findings() const { return mismatch || !breaks.empty() || !farewells.empty(); }
  // Nothing is left to be read of what the peer has sent.
  bool has_read_all(int peer) const;
  // To all peers, with nothing active; false: not all of it could be said now.
  bool say_farewell(std::uint64_t completed);
  bool has_active(Lane lane) const { return active_of_[static_cast<std::size_t>(lane)] > 0; }
  bool has_room(Lane lane) const;
  bool is_idle() const { return active_.empty(); }
  ActiveOperation& start(OperationSlot& slot);
  OperationSlot* take_finished();  // in any order; no longer active then
  const std::vector<ActiveOperation*>& active() const { return active_; }
  // The one that has been active for longest, of those that all ranks take part in.
  const Operation* oldest() const;

  // True when anything moved.
  bool step();

  // What happened, each told once.
  struct Mismatch {
    int peer = 0;
    OperationHeader mine, theirs;
  };
  std::optional<Mismatch> mismatch;
  struct Break {
    int peer, error;
  };
  std::vector<Break> breaks;
  struct Farewell {
    int peer;
    std::uint64_t completed;
  };
  std::vector<Farewell> farewells;
  // A message without a receiver has come, or has found one (no header).
  struct Announcement {
    int peer = 0;
    std::optional<OperationHeader> header;
  };
  std::vector<Announcement> announcements;

  std::uint64_t bytes_sent() const { return bytes_sent_; }
  std::uint64_t bytes_received() const { return bytes_received_; }
  std::uint64_t scratch_bytes() const;

  // Sink
  std::optional<std::byte*> admit(int peer, const FrameHead& head,
                                  const OperationHeader* operation) override;
  void arrived(int peer, const FrameHead& head, std::byte* payload) override;
  void sent(int peer, const FrameHead& head) override;
  void left(int peer, std::uint64_t completed) override;
  void broken(int peer, int error) override;

 private:
  struct Found {
    ActiveOperation* active = nullptr;
    Flow* flow = nullptr;
  };
  Found find(int peer, const FrameHead& head, bool receives) const;
  void announce(int peer, const FrameHead& head, const OperationHeader* operation, bool is_found);
  bool check(Found found, const OperationHeader& theirs);
  struct Place {
    Incoming* piece = nullptr;
    std::uint64_t offset = 0;  // of the frame in the piece, as it travels
  };
  Place place_of(const ActiveOperation& active, Flow& flow, const FrameHead& head) const;
  bool has_window(const ActiveOperation& active, const Incoming& piece, std::uint64_t end) const;
  void take(ActiveOperation& active, const Incoming& piece, std::uint64_t offset,
            const std::byte* payload, std::uint64_t bytes);
  void take_and_answer(ActiveOperation& active, const Incoming& piece, std::uint64_t offset,
                       std::byte* payload, std::uint64_t bytes);
  void advance_prefix(const Operation& operation, Flow& flow, std::uint64_t from, std::uint64_t to);
  bool advance(ActiveOperation& active, Sum& sum);
  bool begin_frames();
  bool begin_frame(ActiveOperation& active, Flow& flow, Link& link);
  std::uint64_t travelling(const Operation& operation, Wire wire, std::uint64_t bytes) const;
  std::uint64_t in_memory(const Operation& operation, Wire wire, std::uint64_t bytes) const;
  void finish_values(const Operation& operation, std::byte* data, std::uint64_t bytes, Wire wire);

  std::byte* take_buffer();
  void give_back(std::vector<Held>& held, std::uint64_t offset);

  const NodeMap& map_;
  std::vector<std::unique_ptr<Link>> links_;  // by rank
  std::vector<ActiveOperation*> active_;      // in issue order
  std::array<std::size_t, kLanes> active_of_{};
  EndedOperations ended_;
  std::vector<bool> is_announced_;                            // by rank
  std::vector<std::unique_ptr<ActiveOperation>> operations_;  // as many as were ever active
  std::vector<ActiveOperation*> free_;
  std::vector<Scratch> buffers_;
  std::vector<std::byte*> free_buffers_;
  std::vector<Operand> operands_;
  std::vector<std::uint64_t> busy_;  // by rank and lane: the round in which it was taken
  std::uint64_t round_ = 0;
  std::uint64_t bytes_sent_ = 0, bytes_received_ = 0;
};

}  // namespace dtl::ring
