#pragma once
// PmixLink: the agent's side of dtpmix, the PMIx server of this node's ranks. Starts it, holds the
// ranks back until it is ready for them, and passes on what dtpmix and the launcher have for each
// other. Owned by the session; one io_context thread. Knows nothing of PMIx itself.

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/guard/guard_protocol.h"
#include "agent/mpi/pmix_process.h"
#include "wire/asio.h"
#include "wire/connection.h"
#include "wire/frame.h"
#include "wire/messages.h"
#include "wire/task_group.h"

namespace dtl {

class PmixLink {
 public:
  struct Listeners {
    std::function<void()> ready;                       // once: the ranks may start
    std::function<void(const std::string& why)> lost;  // once: the ranks cannot go on
  };
  // connection: to the launcher.
  PmixLink(asio::io_context& context, TaskGroup& tasks, Connection& connection,
           Listeners listeners);

  // Once, before the ranks' Start. Calls lost() if dtpmix cannot be started. open_mpi_prefix: the
  // ranks' OPAL_PREFIX; may be empty.
  void serve(const ServePmix& job, const PmixHome& home, const std::string& open_mpi_prefix);
  bool is_starting() const { return state_ == State::kStarting; }
  // Adds what the rank needs to find dtpmix, and the texts of Open MPI.
  void add_variables(std::uint32_t rank, std::vector<std::string_view>& environment) const;
  void send(Message message);  // to dtpmix
  // At each heartbeat: notices a dtpmix that is stopped.
  void tick();
  // Before Exited is sent: what dtpmix has said about the rank by now may explain it.
  void ended(const GuardReport& report);
  // The ranks need it no more: it ends while the agent does other things.
  void close();
  // Then waits for its end, for kDrainDeadline at most, and removes its folder.
  void end();

 private:
  enum class State { kUnused, kStarting, kServing, kClosed };

  awaitable<void> read();
  awaitable<void> write();
  awaitable<void> read_output();
  awaitable<void> limit_start();
  void take();
  void handle(Message message);
  void note_ready(PmixReady ready);
  bool write_some();
  void take_output();
  void lose(const std::string& why);
  std::string with_last_line(std::string text);

  asio::io_context& context_;
  TaskGroup& tasks_;
  Connection& connection_;
  const Listeners listeners_;
  State state_ = State::kUnused;
  bool optional_ = false;  // losing it ends nothing
  std::optional<PmixProcess> process_;
  asio::posix::stream_descriptor link_, output_;
  asio::steady_timer patience_;
  FrameReader reader_;
  std::uint32_t sequence_ = 0;      // of the next frame to dtpmix
  std::deque<std::string> unsent_;  // frames
  std::size_t unsent_bytes_ = 0, sent_of_first_ = 0;
  int stopped_ticks_ = 0;     // since dtpmix last ran
  bool writing_ = false;      // a task sends what is unsent
  std::string printed_;       // the end of what dtpmix has printed
  std::size_t expected_ = 0;  // ranks of the node
  std::map<std::uint32_t, std::vector<std::string>> variables_;  // of each rank that is ready
  std::string prefix_variable_;                                  // may be empty
};

}  // namespace dtl
