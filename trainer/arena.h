#pragma once
// Arena: bump allocation for the activations of one batch. reset() keeps the memory, so a training
// run allocates only while its batches still grow. One thread.

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

namespace dtl::trainer {

class Arena {
 public:
  // Uninitialised, aligned to a cache line; lives until reset().
  template <class T>
  T* take(std::int64_t count) {
    return static_cast<T*>(take_bytes(static_cast<std::size_t>(count) * sizeof(T)));
  }
  void reset();

 private:
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  struct Chunk {
    std::unique_ptr<void, Free> memory;
    std::size_t bytes;
  };
  void* take_bytes(std::size_t bytes);

  std::vector<Chunk> chunks_;
  std::size_t chunk_ = 0, used_ = 0;
};

}  // namespace dtl::trainer
