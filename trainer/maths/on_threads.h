#pragma once
// on_threads: independent blocks of work on several threads, for the preparation of texts. (The
// model's ThreadPool is for loops that run thousands of times and must not throw.)

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <thread>
#include <vector>

namespace dtl::trainer {

// Calls work(block) once for every block in [0, blocks), on `threads` threads, the caller's
// included. Throws on what a block has thrown: of several, the first in order, so that a message
// does not depend on the threads.
template <typename Work>
void on_threads(std::size_t blocks, int threads, const Work& work) {
  struct Failure {
    std::size_t block = 0;
    std::exception_ptr what = {};
  };
  std::atomic<std::size_t> next{0};
  std::atomic<bool> failed{false};  // those before it have begun, since blocks are taken in order
  std::vector<Failure> failures(static_cast<std::size_t>(std::max(1, threads)));
  const auto loop = [&](std::size_t thread) {
    std::size_t block = 0;
    try {
      // Others finish the block that they are at; none begins another after a failure.
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
