#pragma once
// LinkBuilder: connects this rank with those of other nodes. Of two ranks the higher one connects,
// so that a pair never meets twice: a stream for each lane, and several for long operations.
// Connecting and accepting go on at the same time, since every rank does both. Used by the
// rendezvous once. Knows nothing of memory that is shared, nor of what control lines say.

#include <cstddef>
#include <list>
#include <memory>
#include <vector>

#include "ring/links/node_map.h"
#include "ring/links/tcp_link.h"
#include "ring/meeting/connector.h"
#include "ring/meeting/meeting_lines.h"
#include "ring/meeting/members.h"

namespace dtl::ring {

class LinkBuilder {
 public:
  // streams: of a link's bulk lane. All references outlive this.
  LinkBuilder(const Members& members, const NodeMap& map, std::size_t streams, MeetingLines& lines);

  // By rank; null for those of this node. Throws CommError.
  std::vector<std::unique_ptr<TcpLink>> build();

 private:
  bool wants(int peer) const { return peer != self_ && !map_.is_local(peer); }
  void prepare();
  std::vector<Connector*> connect();  // those that have not connected yet
  std::vector<int> missing() const;   // who has not called as often as it will
  void take_callers();
  void admit(Caller caller);

  const Members& members_;
  const NodeMap& map_;
  const std::size_t streams_;
  MeetingLines& lines_;
  const int self_;
  std::vector<std::unique_ptr<TcpLink>> links_;
  std::list<Connector> connectors_;
};

}  // namespace dtl::ring
