// pthread_atfork handlers cannot be removed, so they are installed once, and find guards in a
// registry.
#include "ring/engine/fork_guard.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <mutex>

namespace dtl::ring {
namespace {

// The C library's fork handlers take no argument, so their data must be global.
struct Registry {
  std::mutex mutex;
  std::vector<const ForkGuard*> guards;
};

Registry& registry() {
  static auto* registry = new Registry;  // never destroyed: a fork may come until the end
  return *registry;
}

std::atomic<unsigned> fork_count{0};  // counted in the child alone

// In the child only this thread exists. It took the mutex before the fork, so no other thread was
// changing the list then. close() is safe there; allocating would not be.
void close_in_child() {
  fork_count.fetch_add(1, std::memory_order_relaxed);
  for (const ForkGuard* guard : registry().guards) guard->close_all();
  registry().guards.clear();
  registry().mutex.unlock();
}

void install_handlers() {
  static std::once_flag once;
  std::call_once(once, [] {
    // Locked before the fork, unlocked on both sides after it.
    ::pthread_atfork([] { registry().mutex.lock(); }, [] { registry().mutex.unlock(); },
                     close_in_child);
  });
}

}  // namespace

void count_forks() {
  install_handlers();
}

unsigned forks() {
  return fork_count.load(std::memory_order_relaxed);
}

ForkGuard::ForkGuard() {
  install_handlers();
  const std::lock_guard lock(registry().mutex);
  registry().guards.push_back(this);
}

ForkGuard::~ForkGuard() {
  release();
}

void ForkGuard::add(const std::vector<int>& descriptors) {
  const std::lock_guard lock(registry().mutex);
  descriptors_.insert(descriptors_.end(), descriptors.begin(), descriptors.end());
}

void ForkGuard::release() {
  const std::lock_guard lock(registry().mutex);
  std::erase(registry().guards, this);
}

void ForkGuard::close_all() const {
  for (const int fd : descriptors_) ::close(fd);
}

}  // namespace dtl::ring
