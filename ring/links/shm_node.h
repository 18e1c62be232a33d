#pragma once
// ShmNode: the memory through which the ranks of one node reach each other. Each rank has one
// segment, a sealed memfd that the others map; they write nothing but answers over payloads that
// ask for them. Nothing of it has a name that could outlive the rank, so a killed job leaves
// nothing behind. Peers open it, and the pipe that wakes the rank, as /proc/PID/fd/N, which the
// kernel allows to processes of the same user.
//
// Payloads that are too long for a segment are read out of the sender's own memory
// (process_vm_readv), or, where dt_alloc gave that memory, directly.
//
// Where the kernel restricts tracing to descendants (Yama's ptrace_scope 1), the constructor allows
// this process to be read by others of its user. With 2 or 3 nothing works, and open() says why.

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "ring/links/link.h"
#include "ring/links/shm_allocations.h"
#include "ring/links/shm_segment.h"

namespace dtl::ring {

// Ranks with equal keys see each other's processes. It is made of boot, PID, network and user
// namespace, and user: a PID means the same process on both sides only if all of these are equal.
std::string node_key();

class ShmNode {
 public:
  // For at most max_local ranks of a node; the same number on all of them. Throws CommError.
  explicit ShmNode(int max_local);
  ~ShmNode();
  ShmNode(const ShmNode&) = delete;
  ShmNode& operator=(const ShmNode&) = delete;

  std::string address() const;  // for peers, over an authenticated connection
  // addresses: of all ranks of this node, of which own is this one; as many on all of them. Empty,
  // or why it does not work.
  std::string open(int own, const std::vector<std::string>& addresses);
  // The ranks of this node have fewer CPUs than they are. Then none should wait by polling: it
  // would keep the rank that it waits for from running.
  bool is_crowded() const;
  // To the rank at this place of the node; rank is what Sink hears. After open(); must not outlive
  // this.
  std::unique_ptr<Link> make_link(int local, int rank);
  // The boards of the ranks of this node. After open(); lives as long as this.
  class ShmBoard& board() {
    return *board_;
  }

  int wake_fd() const { return wake_.read_end.get(); }
  void clear_wake();
  // Tells peers that callers have their buffers back, so that what is read from now on is void. To
  // be called before callers are told.
  void withdraw();
  // Announces that this rank sleeps until wake_fd() is readable. False when a link has news: then
  // it must not sleep. Only ranks that have announced it are woken, since that takes a system call.
  bool begin_sleep();
  void end_sleep();
  std::vector<int> descriptors() const;

  ShmAllocations& allocations() { return *allocations_; }  // for dt_alloc and dt_free

 private:
  friend class ShmLink;
  friend class ShmBoard;
  struct Peer {
    int pid = 0;
    Mapping segment;
    Fd wake;
  };
  std::string open_peer(const std::string& address, Peer& peer) const;
  // After something was published for the peer: wakes it if it sleeps.
  static void ring(const Peer& peer);
  static void wake_sleeper(const Peer& peer);  // after a full fence

  const std::size_t max_local_;
  const std::size_t bytes_;  // of a segment
  Layout layout_;            // of the ranks of this node, from open() on
  // In private memory, where peers read it by process_vm_readv to see whether they can.
  std::array<std::byte, kTokenBytes> token_{};
  Fd memory_;
  Mapping segment_;
  Pipe wake_;
  int own_ = 0;
  std::vector<Peer> peers_;
  std::vector<class ShmLink*> links_;
  std::unique_ptr<class ShmBoard> board_;      // from open() on; null: alone on the node
  std::optional<ShmAllocations> allocations_;  // never empty
};

}  // namespace dtl::ring
