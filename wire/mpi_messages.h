#pragma once
// The messages about MPI programs, as plain structs: messages.h says who sends them and when.

#include <cstdint>
#include <string>
#include <vector>

namespace dtl {

// ---- PMI-1
struct PmiRank {
  std::uint32_t rank = 0;
  std::uint32_t program = 0;  // MPI_APPNUM
};
struct ServePmi {           // these ranks of the node find a PMI-1 server on descriptor kPmiFd
  std::uint32_t world = 1;  // ranks of the job
  std::uint32_t nodes = 1;  // that take part in a fence; 1: the agent fences alone
  std::string space;        // name of the job's key space
  std::string mapping;      // PMI_process_mapping; empty: too long for PMI
  std::vector<PmiRank> ranks;
};
struct PmiEntry {
  std::string key, value;
};
struct PmiFence {  // every rank of the node waits in the barrier; what they have put
  std::vector<PmiEntry> entries;
  bool more = false;  // another one follows, for the same barrier
};
struct PmiFenced {  // every node has sent its PmiFence: the entries of all of them
  std::vector<PmiEntry> entries;
  bool more = false;  // another one follows; the last one ends the barrier
};

// ---- PMIx
struct PmixPlace {            // of a rank
  std::uint32_t node = 0;     // as an index of ServePmix::hosts
  std::uint32_t program = 0;  // MPI_APPNUM
};
struct ServePmix {         // the ranks of the node find a PMIx server: dtpmix, which gets this, too
  std::string space;       // the job's namespace, which no other user knows
  std::uint32_t node = 0;  // this one
  std::vector<std::string> hosts;  // the nodes' names, each another one
  std::vector<PmixPlace> places;   // of all ranks, in order of rank
};
struct PmixReady {  // from dtpmix to its agent only: where the rank finds the server
  std::uint32_t rank = 0;
  std::vector<std::string> variables;  // "NAME=value"
};
struct PmixFence {  // every one of these ranks on the node waits in a fence; what they have put
  std::vector<std::uint32_t> ranks;  // in order; empty: all ranks of the job
  std::string data;                  // libpmix's own, for the libpmix of other nodes
  bool more = false;                 // another one follows, for the same fence
};
struct PmixFenced {  // every node with one of these ranks has sent its PmixFence: the data of all
  std::vector<std::uint32_t> ranks;  // as in PmixFence
  std::string data;
  bool more = false;  // another one follows; the last one ends the fence
};
struct PmixWanted {          // a node wants what a rank of another node has put: asked of that node
  std::uint32_t rank = 0;    // whose data
  std::uint32_t node = 0;    // that wants it
  std::uint32_t number = 0;  // its own number of the question
};
struct PmixGiven {                     // the answer
  std::uint32_t node = 0, number = 0;  // as in PmixWanted
  std::uint32_t failure = 0;           // libpmix's status, negated; 0: here it is
  std::string data;
  bool more = false;  // another one follows
};

// ---- both
enum class MpiEvent : std::uint8_t {
  kAborted = 1,  // it called MPI_Abort(code)
  kLeft = 2,     // it exited with status 0: code 0: between MPI_Init and MPI_Finalize; code 1:
                 // outside them, and others wait for it in a barrier
  kBroken = 3,   // it sent what no PMI client sends; text: what
  kAlone = 4,    // it runs an MPI that is not served here, so it is rank 0 of 1; text: its library
};
struct MpiNews {
  std::uint32_t rank = 0;
  MpiEvent event = MpiEvent::kAborted;
  std::uint32_t code = 0;
  std::string text;
};

}  // namespace dtl
