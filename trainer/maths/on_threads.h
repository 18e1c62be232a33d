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
// included. Throws on what a block has thrown; which one, when several do, is open.
template <typename Work>
void on_threads(std::size_t blocks, int threads, const Work& work) {
  std::atomic<std::size_t> next{0};
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(std::max(1, threads)));
  const auto loop = [&](std::size_t thread) {
    try {
      for (std::size_t block; (block = next++) < blocks;) work(block);
    } catch (...) {
      failures[thread] = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> helpers;
    for (std::size_t i = 1; i < failures.size(); ++i) helpers.emplace_back(loop, i);
    loop(0);
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

}  // namespace dtl::trainer
