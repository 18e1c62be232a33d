#pragma once
// on_threads: runs independent blocks of work on several threads, to prepare texts. (The model's
// ThreadPool is for loops that run thousands of times and must not throw.)

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <thread>
#include <vector>

namespace dtl::trainer {

// Calls work(block) once for every block in [0, blocks) on `threads` threads, including the
// caller's. Rethrows a block's exception: of several, the first in block order, so that messages do
// not depend on the threads.
template <typename Work>
void on_threads(std::size_t blocks, int threads, const Work& work) {
  struct Failure {
    std::size_t block = 0;
    std::exception_ptr what = {};
  };
  std::atomic<std::size_t> next{0};
  std::atomic<bool> failed{false};  // blocks are taken in order, so all before it have begun
  std::vector<Failure> failures(static_cast<std::size_t>(std::max(1, threads)));
  const auto loop = [&](std::size_t thread) {
    std::size_t block = 0;
    try {
      // After a failure, threads finish their current block and take no other.
      while (!failed && (block = next++) < blocks) work(block);
    } catch (...) {
      failures[thread] = {block, std::current_exception()};
      failed = true;
    }
  };
  {
    std::vector<std::jthread> helpers;
    for (std::size_t i = 1; i < failures.size(); ++i) helpers.emplace_back(loop, i);
    loop(0);
  }
  const Failure* first = nullptr;
  for (const Failure& failure : failures) {
    if (failure.what && (first == nullptr || failure.block < first->block)) first = &failure;
  }
  if (first != nullptr) std::rethrow_exception(first->what);
}

}  // namespace dtl::trainer
