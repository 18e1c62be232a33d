#pragma once
// The calling side of an edge: from an agent to one of its parents in a tree. Belongs to one
// io_context thread.

#include <cstdint>
#include <memory>

#include "wire/asio.h"
#include "wire/messages.h"
#include "wire/tls/tls_stream.h"

namespace dtl {

struct ProvedEdge {
  int socket = -1;                    // the stream's
  std::shared_ptr<TlsStream> stream;  // shared by its reader and its writer
};

// Both sides have proved the key when it returns. Tries all addresses at once. Throws Error: the
// parent does not answer within kEdgePatience, or has another key.
constexpr std::chrono::milliseconds kEdgePatience{1500};  // a lost first packet costs 1 s
awaitable<ProvedEdge> call_parent(asio::io_context& context, TreeParent parent, std::uint32_t node);

// At both ends of an edge.
void set_edge_options(int socket);

}  // namespace dtl
