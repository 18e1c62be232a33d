#pragma once
// Host: one name of the hostfile (or of -hosts), before any node has been spoken to.

#include <optional>
#include <string>

namespace dtl {

struct Host {
  std::string name;          // as typed: a name or a numeric address (no brackets)
  std::string user;          // empty: ssh's own rule
  int port = 0;              // 0: ssh's own rule
  std::optional<int> slots;  // host:n, slots=n; absent: the node's physical cores decide
  std::string where;         // "hosts:3:1", for messages; empty for -hosts and the local host
};

}  // namespace dtl
