#pragma once
// Arena: bump allocation for the activations of one batch, in one range of addresses that gets
// memory as it is first used. What was taken last is given back first: release(mark()) makes room
// for others, reset() for the next batch; the memory itself stays, so a training run asks the
// system only while its batches still grow. One thread. Throws std::bad_alloc.

#include <cstddef>
#include <cstdint>

namespace dtl::trainer {

class Arena {
 public:
  Arena();
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Callers must write before they read: memory that an earlier batch used still holds its values.
  // Uninitialised, aligned to a cache line; lives until release() of an earlier mark, or reset().
  template <class T>
  T* take(std::int64_t count) {
    return static_cast<T*>(take_bytes(static_cast<std::size_t>(count) * sizeof(T)));
  }
  std::size_t mark() const { return used_; }
  // No destructor runs for what lies above the mark, so T must be a plain number.
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
