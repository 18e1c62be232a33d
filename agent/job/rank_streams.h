#pragma once
// RankStreams: the pipes of this node's ranks, from before their start to the last byte, and the
// files that keep their output. Owned by the session; one io_context thread. Knows nothing of
// processes.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "agent/guard/guard_link.h"
#include "agent/job/output.h"
#include "agent/job/rank_file.h"
#include "agent/job/rank_folder.h"
#include "base/fd.h"
#include "wire/asio.h"
#include "wire/connection.h"
#include "wire/task_group.h"

namespace dtl {

class RankStreams {
 public:
  // launchers_input: for ranks with input; invalid: they get Stdin frames. all_read: called when
  // both output pipes of a rank have ended.
  RankStreams(asio::io_context& context, TaskGroup& tasks, Connection& connection,
              Fd launchers_input, std::function<void(std::uint32_t rank)> all_read);

  void set_rules(const OutputRules& rules) { rules_ = rules; }  // for ranks opened later
  // Opens the rank's input; drop_input(): it will not be needed. Throws Error(kOs).
  void open_input(std::uint32_t rank);
  void drop_input(std::uint32_t rank) { ranks_[rank].input_pipe = Fd(); }
  // The rank's ends of its standard streams. Throws Error(kOs).
  void open(const RankSpec& rank, const std::string& job_id, SpawnFiles& files);
  bool started(std::uint32_t rank);  // starts reading its output; false: it was not opened
  bool ended(std::uint32_t rank);    // false: it is not a rank of this agent
  void give_input(const Stdin& message);
  void give_credit(const Credit& credit);
  // For a rank that has been opened.
  void keep(std::uint32_t rank, std::string_view text);  // only into its error file

 private:
  struct Streams {
    std::unique_ptr<RankCredit> credit;
    std::unique_ptr<RankOutput> output, errors;
    Fd output_pipe, errors_pipe;       // our ends, until it has started
    std::unique_ptr<RankInput> input;  // for wants_stdin
    Fd input_pipe;                     // the rank's end, until open() takes it
    int open_outputs = 0;
  };
  awaitable<void> forward(RankOutput& output, Fd pipe, std::uint32_t rank);
  std::unique_ptr<RankFile> kept_file(std::uint32_t rank, const std::string& job_id,
                                      const char* ending);

  asio::io_context& context_;
  TaskGroup& tasks_;
  Connection& connection_;
  const Fd launchers_input_;
  const std::function<void(std::uint32_t)> all_read_;
  OutputRules rules_;
  std::optional<RankFolder> kept_in_;  // with --log-dir, from the first rank on
  OpenRankFiles open_rank_files_;
  // Never erased: tasks refer to the entries until the agent ends.
  std::map<std::uint32_t, Streams> ranks_;
};

}  // namespace dtl
