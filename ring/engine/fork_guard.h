#pragma once
// ForkGuard: closes descriptors in every child that forks without exec. Otherwise a forked data
// loader would keep its rank's connections open, and other ranks would not notice the rank's death.
// CLOEXEC does not help there. Owned by the Engine; several communicators may have guards.

#include <vector>

namespace dtl::ring {

// How often this process's ancestors and it have forked since the library was first used: differs
// in a child from what it was in the parent. Every call asks, and getpid() is a system call.
void count_forks();  // from now on
unsigned forks();

class ForkGuard {
 public:
  ForkGuard();
  ~ForkGuard();
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;

  // The descriptors must stay open, with the same meaning, until release(): otherwise children
  // would close a reused number that they need.
  void add(const std::vector<int>& descriptors);
  void release();

  void close_all() const;

 private:
  std::vector<int> descriptors_;
};

}  // namespace dtl::ring
