#pragma once
// How many descriptors this program may have open: the user's soft limit is raised to the hard one
// for ourselves, while every program that we start keeps the user's. select(2) breaks above 1,023,
// and some programs close all that they may have. Nothing here allocates; one thread at a time.

#include <cstdint>

namespace dtl {

constexpr std::uint32_t kMostDescriptors = 1 << 20;  // what an unlimited process takes

// The hard limit, or kMostDescriptors if that is less.
std::uint32_t descriptor_limit();

void raise_descriptor_limit(std::uint32_t most = kMostDescriptors);

// The user's limit again; for a child before it executes another program.
void restore_descriptor_limit();

// While it lives, the user's limit holds for what is started.
class UsersDescriptorLimit {
 public:
  UsersDescriptorLimit();
  ~UsersDescriptorLimit();
  UsersDescriptorLimit(const UsersDescriptorLimit&) = delete;
  UsersDescriptorLimit& operator=(const UsersDescriptorLimit&) = delete;
};

}  // namespace dtl
