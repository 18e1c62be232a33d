#pragma once
// NodeSharing: which ranks of a meeting share memory. Each opens the memory of those that seem to
// be on its node and says how that went; rank 0 decides, so that all see it alike. One rank that
// cannot open it, as in a container, makes its whole node use TCP: links are of one kind at both
// ends. Owned by the rendezvous. Knows nothing of connections between ranks.

#include <string>
#include <vector>

#include "ring/links/node_map.h"
#include "ring/links/shm_node.h"
#include "ring/meeting/meeting_lines.h"
#include "ring/meeting/members.h"

namespace dtl::ring {

class NodeSharing {
 public:
  // memory: this rank's, or null. All references outlive this.
  NodeSharing(Members& members, MeetingLines& lines, ShmNode* memory);

  // Returns when all ranks have agreed. Throws CommError.
  NodeMap agree();
  void hear(int rank, const Frame& frame);  // kShare and kNodes

  int local() const { return local_; }
  bool is_crowded() const { return is_crowded_; }  // ranks of some node share cores
  const std::string& warning() const { return warning_; }

 private:
  std::string open();
  NodeMemory memory_here() const;
  std::string ask(const std::string& refusal);
  std::string decide(const std::string& refusal);

  Members& members_;
  MeetingLines& lines_;
  ShmNode* const memory_;
  std::vector<bool> answered_, refused_;  // by rank
  std::string nodes_;                     // as kNodes has it
  int local_ = 0;                         // this rank's place in its node
  bool is_crowded_ = false;
  std::string warning_;  // rank 0: why a node does not share memory
};

}  // namespace dtl::ring
