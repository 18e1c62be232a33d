// Sleeping and waking is the part with a race. A sender publishes, then looks whether the peer
// sleeps; a sleeper announces that, then looks for news. A full fence between the two on both sides
// makes sure that one of them sees the other.
#include "ring/links/shm_node.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/error.h"
#include "ring/common/comm_error.h"
#include "ring/common/crypto.h"
#include "ring/links/shm_board.h"
#include "ring/links/shm_link.h"

namespace dtl::ring {
namespace {

// What address() holds. Peers get it over an authenticated connection, so the token in it proves
// that the segment they open is that of the rank they have met.
struct ShareAddress {
  std::int32_t pid = 0, memory = -1, wake = -1, reserved = 0;
  std::byte token[kTokenBytes] = {};
};

std::string link_text(const char* path) {
  std::array<char, 64> text{};
  const ssize_t size = ::readlink(path, text.data(), text.size() - 1);
  return size > 0 ? std::string(text.data(), static_cast<std::size_t>(size)) : "?";
}

// Yama's 1 allows descendants only, unless the process itself allows others. Ranks are siblings.
// Without Yama the file is missing, and nothing has to be done.
void allow_reading() {
  int scope = 0;
  std::ifstream("/proc/sys/kernel/yama/ptrace_scope") >> scope;
  if (scope == 1) ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
}

std::string descriptor_path(int pid, int fd) {
  return fmt::format("/proc/{}/fd/{}", pid, fd);
}

}  // namespace

std::string node_key() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  for (const char* space : {"pid", "net", "user"}) {
    boot += " " + link_text(fmt::format("/proc/self/ns/{}", space).c_str());
  }
  return fmt::format("{} {}", boot, ::geteuid());
}

ShmNode::ShmNode(int max_local)
    : max_local_(static_cast<std::size_t>(max_local)),
      bytes_(Layout::most_bytes(max_local_)),
      layout_(max_local_),
      wake_(make_pipe()) {
  set_nonblocking(wake_.read_end.get());
  set_nonblocking(wake_.write_end.get());
  memory_ = sealed_memory("dtring", bytes_);
  if (memory_.valid()) {
    segment_ = Mapping::of(memory_.get(), bytes_, PROT_READ | PROT_WRITE, 0);
  }
  if (segment_.data() == nullptr) {
    throw CommError(DT_E_SYS, "cannot make memory for the ranks of this node", errno_text(errno));
  }
  fill_random({reinterpret_cast<std::uint8_t*>(token_.data()), token_.size()});
  auto* header = new (segment_.data()) SegmentHeader;
  header->magic = kSegmentMagic;
  header->max_local = static_cast<std::uint32_t>(max_local_);
  std::memcpy(header->token, token_.data(), kTokenBytes);
  header->token_address = reinterpret_cast<std::uintptr_t>(token_.data());
  cpu_set_t cpus;
  if (::sched_getaffinity(0, sizeof cpus, &cpus) == 0) {
    for (std::size_t cpu = 0; cpu < kMaxCpus && cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &cpus)) header->cpus[cpu / 64] |= std::uint64_t{1} << cpu % 64;
    }
  }
  allocations_.emplace(*header);
  allow_reading();
}

ShmNode::~ShmNode() = default;

std::string ShmNode::address() const {
  ShareAddress address{
      static_cast<std::int32_t>(::getpid()), memory_.get(), wake_.write_end.get(), 0, {}};
  std::memcpy(address.token, token_.data(), kTokenBytes);
  return {reinterpret_cast<const char*>(&address), sizeof address};
}

std::string ShmNode::open(int own, const std::vector<std::string>& addresses) {
  own_ = own;
  if (addresses.size() > max_local_) return "there are too many ranks on this node";
  layout_ = Layout(addresses.size());
  peers_.resize(addresses.size());
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    if (static_cast<int>(i) == own) continue;
    std::string refusal = open_peer(addresses[i], peers_[i]);
    if (!refusal.empty()) return refusal;
  }
  board_ = std::make_unique<ShmBoard>(*this);
  return {};
}

// Empty, or why its memory cannot be read.
std::string ShmNode::open_peer(const std::string& text, Peer& peer) const {
  ShareAddress address;
  if (text.size() != sizeof address) return "a rank of this node has no shared memory";
  std::memcpy(&address, text.data(), sizeof address);
  const auto refuse = [&](const char* what) {
    return fmt::format("cannot {} process {} on this node: {}", what, address.pid,
                       errno_text(errno));
  };
  peer.pid = address.pid;
  const Fd memory(::open(descriptor_path(address.pid, address.memory).c_str(), O_RDWR | O_CLOEXEC));
  struct stat status {};
  if (!memory.valid() || ::fstat(memory.get(), &status) != 0) return refuse("open the memory of");
  // Unsealed, its owner could make it shorter while it is mapped here, and reads would raise
  // SIGBUS. Another size means another layout.
  const int seals = ::fcntl(memory.get(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || status.st_uid != ::geteuid() ||
      static_cast<std::size_t>(status.st_size) != bytes_) {
    errno = EBADMSG;
    return refuse("use the memory of");
  }
  peer.segment = Mapping::of(memory.get(), layout_.bytes, PROT_READ | PROT_WRITE, 0);
  if (peer.segment.data() == nullptr) return refuse("map the memory of");
  const SegmentHeader& header = Layout::header(peer.segment.data());
  if (header.magic != kSegmentMagic || header.max_local != max_local_ ||
      std::memcmp(header.token, address.token, kTokenBytes) != 0) {
    errno = EBADMSG;
    return refuse("use the memory of");
  }
  // Tried with a few bytes now: a container may forbid process_vm_readv although /proc is open, and
  // the first long operation would be too late to find out.
  std::array<std::byte, kTokenBytes> seen{};
  const iovec local{seen.data(), seen.size()};
  const iovec remote{reinterpret_cast<void*>(header.token_address), seen.size()};
  if (::process_vm_readv(address.pid, &local, 1, &remote, 1, 0) !=
          static_cast<ssize_t>(seen.size()) ||
      std::memcmp(seen.data(), address.token, kTokenBytes) != 0) {
    return refuse("read the memory of");
  }
  // Opened for both ends: while this rank holds a reading end itself, no write raises SIGPIPE when
  // the peer is gone.
  peer.wake = Fd(
      ::open(descriptor_path(address.pid, address.wake).c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));
  return peer.wake.valid() ? std::string() : refuse("wake");
}

bool ShmNode::is_crowded() const {
  std::size_t cpus = 0;
  for (std::size_t word = 0; word < kMaxCpus / 64; ++word) {
    // The union: ranks that are pinned to CPUs of their own count theirs, ranks that share some
    // count them once.
    std::uint64_t all = Layout::header(segment_.data()).cpus[word];
    for (const Peer& peer : peers_) {
      if (peer.segment.data() != nullptr) all |= Layout::header(peer.segment.data()).cpus[word];
    }
    cpus += static_cast<std::size_t>(std::popcount(all));
  }
  return cpus < peers_.size();
}

std::unique_ptr<Link> ShmNode::make_link(int local, int rank) {
  return std::make_unique<ShmLink>(*this, local, rank);
}

std::vector<int> ShmNode::descriptors() const {
  std::vector<int> all{memory_.get(), wake_.read_end.get(), wake_.write_end.get()};
  for (const Peer& peer : peers_) {
    if (peer.wake.valid()) all.push_back(peer.wake.get());
  }
  return all;
}

// If the peer sleeps, it has looked before, so what was just published is news to it. A pipe that
// is full has enough to wake it.
void ShmNode::ring(const Peer& peer) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  wake_sleeper(peer);
}

void ShmNode::wake_sleeper(const Peer& peer) {
  if (Layout::header(peer.segment.data()).sleeps.load(std::memory_order_relaxed) == 0) return;
  const char byte = 1;
  (void)!::write(peer.wake.get(), &byte, 1);
}

void ShmNode::clear_wake() {
  std::array<char, 256> bytes;
  while (::read(wake_.read_end.get(), bytes.data(), bytes.size()) ==
         static_cast<ssize_t>(bytes.size())) {
  }
}

void ShmNode::withdraw() {
  Layout::header(segment_.data()).has_left.store(1);
}

bool ShmNode::begin_sleep() {
  Layout::header(segment_.data()).sleeps.store(1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return (board_ == nullptr || !board_->has_news()) &&
         std::none_of(links_.begin(), links_.end(),
                      [](const ShmLink* link) { return link->has_news(); });
}

void ShmNode::end_sleep() {
  Layout::header(segment_.data()).sleeps.store(0, std::memory_order_relaxed);
}

}  // namespace dtl::ring
