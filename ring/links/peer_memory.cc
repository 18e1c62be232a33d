// Mappings are kept from one operation to the next, because opening and mapping cost more than a
// short operation. They are looked at again when the version of the peer's table has changed.
#include "ring/links/peer_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "base/fd.h"

namespace dtl::ring {

std::byte* PeerMemory::read(std::uint64_t address, std::size_t bytes, std::byte* target) {
  if (std::byte* there = find_region(address, bytes)) return there;
  const iovec local{target, bytes};
  const iovec remote{reinterpret_cast<void*>(address), bytes};
  const ssize_t n = ::process_vm_readv(pid_, &local, 1, &remote, 1, 0);
  if (n == static_cast<ssize_t>(bytes)) return target;
  // Short: the buffer ends before it should. process_vm_readv does not say an error then.
  if (n >= 0) errno = EFAULT;
  return nullptr;
}

bool PeerMemory::write(std::uint64_t address, std::size_t bytes, std::byte* from) const {
  const iovec local{from, bytes};
  const iovec remote{reinterpret_cast<void*>(address), bytes};
  return ::process_vm_writev(pid_, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes);
}

bool PeerMemory::has_left() const {
  std::atomic_thread_fence(std::memory_order_acquire);
  return Layout::header(segment_).has_left.load(std::memory_order_relaxed) != 0;
}

// Where memory of the peer is mapped here; null when it is not.
std::byte* PeerMemory::find_region(std::uint64_t address, std::uint64_t bytes) {
  const SegmentHeader& header = Layout::header(segment_);
  const std::uint32_t version = header.regions_version.load(std::memory_order_acquire);
  if (version != regions_version_ && version % 2 == 0) read_regions(version);
  for (const Mapped& each : regions_) {
    const std::uint64_t from = each.region.address, size = each.region.bytes;
    if (address < from || address - from > size || bytes > size - (address - from)) continue;
    return each.mapping.data() + (address - from);
  }
  return nullptr;
}

void PeerMemory::read_regions(std::uint32_t version) {
  const SegmentHeader& header = Layout::header(segment_);
  // A copy that counts only if the version is still the same: the owner may write it meanwhile.
  std::array<Region, kMaxRegions> table;
  std::memcpy(table.data(), header.regions, sizeof table);
  std::atomic_thread_fence(std::memory_order_acquire);
  if (header.regions_version.load(std::memory_order_relaxed) != version) return;  // next time
  regions_version_ = version;
  const auto same = [](const Region& a, const Region& b) {
    return std::memcmp(&a, &b, sizeof a) == 0;
  };
  // What the peer has freed is unmapped, what is still there stays mapped.
  std::erase_if(regions_, [&](const Mapped& each) {
    return std::none_of(table.begin(), table.end(),
                        [&](const Region& region) { return same(region, each.region); });
  });
  for (const Region& region : table) {
    const auto is_it = [&](const Mapped& each) { return same(region, each.region); };
    if (region.bytes == 0 || std::any_of(regions_.begin(), regions_.end(), is_it)) continue;
    const std::string path = "/proc/" + std::to_string(pid_) + "/fd/" + std::to_string(region.fd);
    const Fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    struct stat status {};
    // Sealed, so that the mapping stays readable whatever the peer does. Where it is not, or has
    // gone already, its memory is read by the kernel instead.
    const bool is_sealed = fd.valid() && ::fstat(fd.get(), &status) == 0 &&
                           (::fcntl(fd.get(), F_GET_SEALS) & F_SEAL_SHRINK) != 0;
    if (!is_sealed || static_cast<std::uint64_t>(status.st_size) < region.bytes) continue;
    Mapping mapping = Mapping::of(fd.get(), region.bytes, PROT_READ | PROT_WRITE, MAP_POPULATE);
    if (mapping.data() != nullptr) regions_.push_back({region, std::move(mapping)});
  }
}

}  // namespace dtl::ring
