#pragma once
// The server of PMI-1 and PMI-2 of a node's ranks: they find each other through its key space when
// an MPI program of MPICH's family starts; which of the two they speak is in their first line.
// Pure: what ranks write and the launcher sends goes in, what to write, send and tell comes out. No
// clock, no descriptors. The agent owns it, on its one thread.
//
// A put is visible on the node at once, as with MPICH's own server: PMI promises it only after the
// barrier, to all. What ranks put wrongly ends the rank's conversation (MpiNews kBroken).

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "agent/pmi/pmi2_message.h"
#include "agent/pmi/pmi_line.h"
#include "wire/messages.h"

namespace dtl {

// Of what the ranks of a node have put, all their MPI programs together.
constexpr std::size_t kMaxPmiKeys = 65536;
constexpr std::size_t kMaxPmiSpace = 8 << 20;  // bytes of keys and values; a connection queues
                                               // 16 MiB
constexpr std::size_t kMaxPmiNodeAttributes = 4096;
constexpr std::size_t kMaxFenceBytes = 512 << 10;  // of one PmiFence: other frames come between

namespace pmi {  // effects, to be performed in order
struct Reply {   // to be written to the rank's connection
  std::uint32_t rank = 0;
  std::string text;
};
struct Fence {  // to the launcher
  std::vector<PmiFence> parts;
};
struct News {  // aborted or broken: to the launcher
  MpiNews news;
};
struct Say {  // a line for the user; each kind once for a rank
  std::uint32_t rank = 0;
  std::string text;
};
using Effect = std::variant<Reply, Fence, News, Say>;
}  // namespace pmi

enum class PmiPhase { kUnused, kInitialised, kFinalised };

class PmiServer {
 public:
  using Runs = std::function<bool(pid_t)>;  // whether this process still exists

  PmiServer(ServePmi job, Runs runs);
  PmiServer(const PmiServer&) = delete;
  PmiServer& operator=(const PmiServer&) = delete;

  bool serves(std::uint32_t rank) const { return ranks_.contains(rank); }
  // Bytes that `process` (0: unknown) wrote on the rank's connection.
  std::vector<pmi::Effect> received(std::uint32_t rank, pid_t process, std::string_view bytes);
  std::vector<pmi::Effect> fenced(PmiFenced part);  // from the launcher
  PmiPhase phase(std::uint32_t rank) const;
  bool has_ended(std::uint32_t rank) const;
  // The rank has exited; orderly: with status 0. Tells the launcher if it left: between init and
  // finalize, or while others of the node wait for it in a barrier, which never ends then. Ending
  // the job is the launcher's part.
  std::vector<pmi::Effect> ended(std::uint32_t rank, bool orderly);

 private:
  enum class Barrier { kOutside, kInside, kFenced };  // kFenced: the launcher knows
  struct Rank {
    PmiRank is;
    PmiPhase phase = PmiPhase::kUnused;
    Barrier barrier = Barrier::kOutside;
    bool heard = true;  // until it aborts, breaks PMI's rules or ends
    bool ended = false;
    pid_t process = 0;
    std::uint32_t starts = 0;       // MPI programs that have initialised, one after the other
    std::vector<std::string> said;  // commands about which the user has been told
    std::string fence_thread;       // of PMI-2: which thread waits in it
    PmiReader reader;
  };
  struct Value {
    std::string text;
    bool own = false;      // a rank of this node has put it
    bool waiting = false;  // for the next fence
  };
  using Space = std::unordered_map<std::string, Value>;
  using Handler = void (PmiServer::*)(Rank&, const PmiCommand&);
  static const std::pair<std::string_view, Handler> kHandlers[], kHandlers2[];
  struct Wait {  // for an attribute of the node
    std::uint32_t rank = 0;
    std::string key, thread;
  };

  static Handler handler1(std::string_view name);
  void handle(Rank& rank, pid_t process, const PmiCommand& command);
  void init(Rank& rank, pid_t process, const PmiCommand& command);
  void abort(Rank& rank, const PmiCommand& command);
  bool refuse(Rank& rank, const PmiCommand& command);
  void maxes(Rank& rank, const PmiCommand& command);
  void universe_size(Rank& rank, const PmiCommand& command);
  void appnum(Rank& rank, const PmiCommand& command);
  void my_space_name(Rank& rank, const PmiCommand& command);
  void put(Rank& rank, const PmiCommand& command);
  void get(Rank& rank, const PmiCommand& command);
  void enter_barrier(Rank& rank, const PmiCommand& command);
  void finalize(Rank& rank, const PmiCommand& command);

  // PMI-2: pmi2_commands.cc.
  static Handler handler2(std::string_view name);
  void fullinit(Rank& rank, const PmiCommand& command);
  void job_id(Rank& rank, const PmiCommand& command);
  void get_job_attribute(Rank& rank, const PmiCommand& command);
  void put_node_attribute(Rank& rank, const PmiCommand& command);
  void get_node_attribute(Rank& rank, const PmiCommand& command);
  void put2(Rank& rank, const PmiCommand& command);
  void get2(Rank& rank, const PmiCommand& command);
  void enter_fence(Rank& rank, const PmiCommand& command);
  void finalize2(Rank& rank, const PmiCommand& command);
  bool refuse2(Rank& rank, const PmiCommand& command);
  void answer2(const Rank& rank, const PmiCommand& command, PmiAttributes attributes);
  void answer2(const Rank& rank, const std::string& thread, std::string_view name,
               PmiAttributes attributes);

  void start_program(Rank& rank);
  std::string space_name(const Rank& rank) const;
  bool names_space(const PmiCommand& command) const;
  bool store(const std::string& key, const std::string& value);
  const std::string* look_up(const std::string& key) const;
  void enter(Rank& rank);
  void tell_who_left();
  void fence_if_complete();
  void end_barrier();
  std::vector<PmiFence> take_waiting();
  void reply(const Rank& rank, std::string text);
  void break_off(Rank& rank, std::string text);
  void break_off_full(Rank& rank, const std::string& key);
  void say_once(Rank& rank, const std::string& command, std::string_view text);
  std::vector<pmi::Effect> take_effects() { return std::exchange(effects_, {}); }

  ServePmi job_;
  Runs runs_;
  std::unordered_map<std::uint32_t, Rank> ranks_;
  std::size_t inside_ = 0;  // ranks in Barrier::kInside
  bool fencing_ = false;    // a fence is with the launcher
  // The first rank that ended in order, until its end has kept others waiting.
  std::optional<std::uint32_t> gone_;
  Space space_;
  std::size_t own_keys_ = 0, own_bytes_ = 0;
  std::unordered_map<std::string, std::string> node_attributes_;  // of PMI-2
  std::vector<Wait> waits_;
  std::vector<Space::value_type*> waiting_;  // in the order of their puts
  std::vector<pmi::Effect> effects_;
};

}  // namespace dtl
