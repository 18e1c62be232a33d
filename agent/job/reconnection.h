#pragma once
// Reconnection: adds --reconnect and --tree to the launcher's connection: it waits behind a
// LinkDoor for a launcher that lost its stream, and at its place in a tree of agents for one that
// comes by a branch. Owned by the session; one io_context thread. Reads no messages.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agent/job/link_door.h"
#include "agent/job/supervisor.h"
#include "agent/tree/shared_frames.h"
#include "agent/tree/tree_seat.h"
#include "wire/asio.h"
#include "wire/connection.h"
#include "wire/task_group.h"

namespace dtl {

class Reconnection {
 public:
  // back: called when the launcher has come back. shared: takes the messages of SharedFrames. All
  // references outlive this.
  Reconnection(asio::io_context& context, TaskGroup& tasks, Connection& connection,
               std::function<void()> back, std::function<void(Message)> shared);

  // The next message, across as many streams as needed. nullopt: the conversation is over. Throws
  // Error as Connection::receive does if no other stream can come.
  awaitable<std::optional<Message>> receive();
  // From here on the launcher may come back. False if the socket cannot be created; the
  // launcher is then told, and the job continues without reconnection. Throws Error(kVersion) the
  // second time.
  bool agree(const Reconnect& agreed);
  // Takes the place in a tree of agents, and says so. Throws Error(kVersion) before agree() and the
  // second time.
  void take(JoinTree order);
  // Throw Error(kVersion) before JoinTree, or for garbage.
  void take(const Relayed& parcels);
  void take(SharedFrame frame);
  void take(PieceGiven piece);
  // Tells the launcher that this agent lives. In a tree `alive` does.
  void beat(BootTime now);
  void end();  // from here on no launcher can come back

  // See TreeSeat; at once without a tree.
  awaitable<void> wait_for_children();
  awaitable<void> flush();

 private:
  void pass_shared();
  bool resume(const Resume& offer, std::unique_ptr<ByteStream> stream, std::string received);

  asio::io_context& context_;
  TaskGroup& tasks_;
  Connection& connection_;
  const std::function<void()> back_;
  const std::function<void(Message)> shared_;
  std::optional<LinkDoor> door_;  // after agree()
  std::string token_;             // proves that a peer is the launcher
  std::string problem_;           // why it cannot come back, although agree() was called
  std::optional<TreeSeat> tree_;  // after JoinTree
  SharedFrames frames_;
};

}  // namespace dtl
