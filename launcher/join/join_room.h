#pragma once
// JoinRoom: nodes that a scheduler has started connect to it, so that one dtlaunch can start a
// job's agents on them. Has its own thread and a listening port (join_door.h), which is open only
// while a node is missing. Any thread but the room's may call its functions; the room's thread
// calls the functions in JoinRoomOptions.

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "launcher/join/join_seat.h"
#include "launcher/streams/agent_stream.h"
#include "plan/request/request.h"

namespace dtl {

struct JoinRoomOptions {
  std::string token;
  PortRange ports;  // listens on the first free one
  ExpectedNodes expected;
  bool reopens = false;  // true: when a node is lost; false: when an agent waits for one
  // The scheduler is ending this node. Must not block.
  std::function<void(std::size_t place, const std::string& node)> told_to_stop;
  // Called each time when every node that may still come is there.
  std::function<void()> complete = {};
};

class JoinRoom {
 public:
  explicit JoinRoom(JoinRoomOptions options);  // throws Error(kConfig) if no port is free
  ~JoinRoom();  // nodes that do not know the job's end see their connection end
  JoinRoom(const JoinRoom&) = delete;
  JoinRoom& operator=(const JoinRoom&) = delete;

  int port() const;
  // Readable when a node has come, gone or asked to end the job since the last call of changed().
  // Belongs to the room.
  int change_descriptor() const;
  void changed();
  // The nodes' names, by place; empty if the place is free.
  std::vector<std::string> present() const;
  std::vector<bool> leaving() const;  // by place: has asked to end the job

  // Starts an agent on the node of that place with these arguments; without any, a job's agent
  // (--serve). Returns at once. If the node is not there, bytes flow once it has come.
  std::unique_ptr<AgentStream> start_agent(asio::io_context& context, std::size_t place,
                                           const std::vector<std::string>& arguments = {});
  // No node will come any more to that place, or to any. From now on agents of missing nodes end at
  // once, and `how` is their ending.
  void give_up(std::string how, std::optional<std::size_t> place = std::nullopt);
  // True if no agent runs there: the last one has ended, or its node was lost more than kFence ago,
  // so that it must have ended.
  bool is_idle(std::size_t place) const;
  // True for kFence after a node was lost while its agent ran: that agent may still run.
  bool may_run_elsewhere(std::size_t place) const;
  // Tells one node that it no longer takes part in the job. It exits with `status`.
  void dismiss(std::size_t place, int status);

  // This process is about to be stopped (^Z), perhaps for hours. Tells the nodes to wait; returns
  // when they know, or after a second.
  void about_to_stop();

  // Tells all nodes how the job has ended. Waits until they know, or for `patience`.
  void finish(int status, std::chrono::milliseconds patience);

 private:
  class Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace dtl
