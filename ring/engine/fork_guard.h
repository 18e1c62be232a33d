#pragma once
// ForkGuard: closes descriptors in every child that is forked without exec. Otherwise a forked data
// loader would keep the connections of its rank alive, and nobody would notice the rank's death.

#include <vector>

namespace dtl::ring {

class ForkGuard {
 public:
  // The descriptors stay open, and the same, as long as the guard lives.
  explicit ForkGuard(std::vector<int> descriptors);
  ~ForkGuard();
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;

  void close_all() const;

 private:
  std::vector<int> descriptors_;
};

}  // namespace dtl::ring
