#pragma once
// The number of descriptors that this program may open: we raise our soft limit to the hard one,
// while every program that we start keeps the user's limit. select(2) breaks above 1,023, and some
// programs close all possible descriptors. Nothing here allocates; one thread at a time.

#include <cstdint>

namespace dtl {

constexpr std::uint32_t kMostDescriptors = 1 << 20;  // used if there is no limit

// The hard limit, or kMostDescriptors if that is less.
std::uint32_t descriptor_limit();

void raise_descriptor_limit(std::uint32_t most = kMostDescriptors);

// Restores the user's limit; for a child before it executes another program.
void restore_descriptor_limit();

// While it exists, started programs get the user's limit.
class UsersDescriptorLimit {
 public:
  UsersDescriptorLimit();
  ~UsersDescriptorLimit();
  UsersDescriptorLimit(const UsersDescriptorLimit&) = delete;
  UsersDescriptorLimit& operator=(const UsersDescriptorLimit&) = delete;
};

}  // namespace dtl
