#pragma once
// Transfer: moves the bytes of the active operations over the two data links of this rank, from
// the previous one and to the next one, without ever blocking. Knows nothing of control lines and
// of what becomes of a failure: it reports events. Used by the communication thread only.
//
// At most two operations are active: while the first one's last bytes arrive, the second one's
// first bytes leave. Both directions take operations in issue order, so they end in that order.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/fd.h"
#include "ring/operation.h"
#include "ring/scratch.h"

namespace dtl::ring {

constexpr std::size_t kChunkBytes = 256 << 10;  // of one system call: fits a core's L2 cache twice

class Transfer {
 public:
  Transfer(Fd to_next, Fd from_previous, std::size_t gather_bytes);

  bool has_room() const { return active_ < kWindow; }
  bool is_idle() const { return active_ == 0; }
  void start(Operation& operation);
  // The oldest active operation once it is complete; it is no longer active then.
  Operation* take_finished();
  const Operation* oldest() const { return active_ > 0 ? window_[0] : nullptr; }
  const Operation* newest() const { return active_ > 0 ? window_[active_ - 1] : nullptr; }

  // One system call in each direction at most. True when anything moved.
  bool step();

  // Edges from epoll.
  void set_readable() { readable_ = true; }
  void set_writable() { writable_ = true; }

  // What happened to the links, each told once.
  struct Mismatch {
    OperationHeader mine, theirs;
  };
  std::optional<Mismatch> mismatch;
  std::optional<std::uint64_t> previous_left;  // after so many operations
  std::optional<int> previous_closed;          // errno, 0 for an orderly end
  std::optional<int> next_closed;              // errno

  bool wants_data() const { return receiving() != nullptr; }
  bool has_data_to_send() const;
  bool is_between_operations() const;  // nothing half sent
  bool say_bye(std::uint64_t completed);

  int to_next() const { return to_next_.get(); }
  int from_previous() const { return from_previous_.get(); }

 private:
  static constexpr std::size_t kWindow = 2;

  Operation* receiving() const;
  Operation* sending() const;
  bool receive_some();
  bool receive_header(Operation* operation);
  bool check_header(Operation& operation);
  bool receive_payload(Operation& operation);
  void take_payload(Operation& operation, std::size_t bytes);
  bool note_read(std::ptrdiff_t result, std::size_t wanted);
  bool send_some();

  Fd to_next_, from_previous_;
  Scratch scratch_;  // what is received to be added, then two gather areas
  std::array<std::byte*, kWindow> gather_{};
  std::array<Operation*, kWindow> window_{};
  std::size_t active_ = 0;
  bool readable_ = true, writable_ = true;
  OperationHeader incoming_;         // the previous rank's next header
  std::size_t incoming_filled_ = 0;  // its bytes that have arrived
  std::size_t scratch_filled_ = 0;   // bytes of an element that is not whole yet
};

}  // namespace dtl::ring
