#pragma once
// JoinRoom: where nodes that an engine has started come to, to have agents of one job started
// there. A thread of its own with a listening port (join_door.h), open only while somebody is
// missing. All functions may be called from any thread but the room's.

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
  PortRange ports;  // the first free one of them
  ExpectedNodes expected;
  bool reopens = false;  // listens again as soon as a node is lost; else when an agent waits for it
  // On the room's thread: a node says that its engine ends it.
  std::function<void(std::size_t place, const std::string& node)> told_to_stop;
  // On it as well, each time that nobody is missing any more who may still come.
  std::function<void()> complete = {};
};

class JoinRoom {
 public:
  explicit JoinRoom(JoinRoomOptions options);  // throws Error(kConfig) when no port is free
  ~JoinRoom();  // nodes that were not told the job's end see the end of their connection
  JoinRoom(const JoinRoom&) = delete;
  JoinRoom& operator=(const JoinRoom&) = delete;

  int port() const;
  // Readable once somebody has come, gone or asked for the job's end since changed() was called
  // last.
  int change_descriptor() const;
  void changed();
  // The nodes' names, by place; empty where nobody is.
  std::vector<std::string> present() const;
  std::vector<bool> leaving() const;  // by place: who is there has asked for the job's end

  // An agent on the node of that place, with these arguments or else --serve; its bytes come once
  // the node is there.
  std::unique_ptr<AgentStream> start_agent(asio::io_context& context, std::size_t place,
                                           const std::vector<std::string>& arguments = {});
  // Nobody comes any more, to that place or to any: agents on nodes that are not there end so from
  // now on, with `how`.
  void give_up(std::string how, std::optional<std::size_t> place = std::nullopt);
  // True when no agent runs there: the last one has been seen to end, or its node was lost so long
  // ago that it must have ended (kFence).
  bool is_idle(std::size_t place) const;
  // An agent was lost with its node a moment ago, and may not have ended yet, wherever that is.
  bool may_run_elsewhere(std::size_t place) const;
  // Tells one node that it has no part in the job any more, with the exit status that it is to
  // have.
  void dismiss(std::size_t place, int status);

  // This process is about to be stopped, for hours perhaps: the nodes hear of it before this
  // returns, or a second has passed.
  void about_to_stop();

  // Tells all nodes how the job has ended, and waits until they have taken it, or for `patience`.
  void finish(int status, std::chrono::milliseconds patience);

 private:
  class Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace dtl
