#pragma once
// Arena: bump allocation for one batch's activations, in one range of addresses that gets memory on
// first use. It releases in reverse order: release(mark()) frees what was taken after mark(),
// reset() frees all for the next batch. It keeps the memory, so a training run asks the system only
// while batches still grow. One thread. Throws std::bad_alloc.

#include <cstddef>
#include <cstdint>

namespace dtl::trainer {

class Arena {
 public:
  Arena();
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Uninitialised: memory may hold an earlier batch's values. Aligned to a cache line. Valid until
  // release() of an earlier mark, or reset().
  template <class T>
  T* take(std::int64_t count) {
    return static_cast<T*>(take_bytes(static_cast<std::size_t>(count) * sizeof(T)));
  }
  std::size_t mark() const { return used_; }
  // Runs no destructors, so T must be a plain number.
  void release(std::size_t mark) { used_ = mark; }
  void reset() { used_ = 0; }

 private:
  void* take_bytes(std::size_t bytes);
  void grow(std::size_t bytes);

  char* memory_ = nullptr;
  std::size_t reserved_ = 0;  // addresses
  std::size_t usable_ = 0, used_ = 0;
};

}  // namespace dtl::trainer
