#pragma once
// ForkGuard: closes descriptors in every child that is forked without exec. Otherwise a forked data
// loader would keep the connections of its rank alive, and nobody would notice the rank's death.
// CLOEXEC does not help there. Owned by the Engine; guards of several communicators may exist.

#include <vector>

namespace dtl::ring {

class ForkGuard {
 public:
  // The descriptors must stay open, and mean the same, as long as the guard lives: a number that
  // was used again would be closed in the child of a program that needs it.
  explicit ForkGuard(std::vector<int> descriptors);
  ~ForkGuard();
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;

  void close_all() const;

 private:
  std::vector<int> descriptors_;
};

}  // namespace dtl::ring
