#pragma once
// Whose a unix socket is that cannot be asked, since its queue is full.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace dtl {

// The user who created the abstract socket of this name. nullopt if no socket has the name, or if
// the kernel is older than Linux 5.3.
std::optional<uid_t> user_of_socket(std::uint32_t inode, const std::string& name);

}  // namespace dtl
