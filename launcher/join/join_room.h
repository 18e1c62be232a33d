#pragma once
// JoinRoom: where nodes that a scheduler has started come to, so that agents of one job can be
// started on them. Has a thread of its own and a listening port (join_door.h), which is open only
// while somebody is missing. All functions may be called from any thread but the room's; the
// functions in JoinRoomOptions are called on the room's thread.

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
  PortRange ports;  // listens on the first free one of them
  ExpectedNodes expected;
  bool reopens = false;  // as soon as a node is lost; else when an agent waits for one
  // A node says that its scheduler ends it. Must not block.
  std::function<void(std::size_t place, const std::string& node)> told_to_stop;
  // Called each time when nobody is missing any more who may still come.
  std::function<void()> complete = {};
};

class JoinRoom {
 public:
  explicit JoinRoom(JoinRoomOptions options);  // throws Error(kConfig) when no port is free
  ~JoinRoom();  // nodes that were not told the job's end see the end of their connection
  JoinRoom(const JoinRoom&) = delete;
  JoinRoom& operator=(const JoinRoom&) = delete;

  int port() const;
  // Readable once something has happened since the last call of changed(): somebody has come, has
  // gone or has asked for the job's end. Belongs to the room.
  int change_descriptor() const;
  void changed();
  // The nodes' names, by place; empty where nobody is.
  std::vector<std::string> present() const;
  std::vector<bool> leaving() const;  // by place: has asked for the job's end

  // An agent on the node of that place, with these arguments; without any, a job's agent (--serve).
  // Returns at once. If the node is not there, bytes flow once it has come.
  std::unique_ptr<AgentStream> start_agent(asio::io_context& context, std::size_t place,
                                           const std::vector<std::string>& arguments = {});
  // Nobody comes any more, to that place or to any. From now on agents for nodes that are not there
  // end at once, and `how` is their ending.
  void give_up(std::string how, std::optional<std::size_t> place = std::nullopt);
  // True when no agent runs there: the last one was seen to end, or its node was lost before
  // kFence, so that it must have ended.
  bool is_idle(std::size_t place) const;
  // True for a while (kFence) after a node was lost while its agent ran: that agent may not have
  // ended yet, wherever it is.
  bool may_run_elsewhere(std::size_t place) const;
  // Tells one node that it has no part in the job any more. `status` becomes its exit status.
  void dismiss(std::size_t place, int status);

  // This process is about to be stopped (^Z), perhaps for hours. Tells the nodes to wait; returns
  // when they have been told, or after a second.
  void about_to_stop();

  // Tells all nodes how the job has ended, and waits until they have taken it, or for `patience`.
  void finish(int status, std::chrono::milliseconds patience);

 private:
  class Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace dtl
