// A lost stream is an event only if nobody can come back. Otherwise reading waits here for another
// stream; the launcher's lease continues and ends too long a wait.
#include "agent/job/reconnection.h"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

#include "base/error.h"

namespace dtl {
namespace {

// The lost stream had descriptors 0 and 1. A file that gets one of these numbers next would receive
// data meant for the stream.
void hold_standard_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO}) {
    if (::fcntl(fd, F_GETFD) < 0) ::open("/dev/null", O_RDWR);
  }
}

}  // namespace

Reconnection::Reconnection(asio::io_context& context, TaskGroup& tasks, Connection& connection,
                           std::function<void()> back, std::function<void(Message)> shared)
    : context_(context),
      tasks_(tasks),
      connection_(connection),
      back_(std::move(back)),
      shared_(std::move(shared)) {}

awaitable<std::optional<Message>> Reconnection::receive() {
  do {
    try {
      std::optional<Message> message = co_await connection_.receive();
      if (message || !door_) co_return message;
    } catch (const Error& error) {
      // Garbage means another program or a bug: another stream would not help.
      if (!door_ || error.status() == Exit::kVersion) throw;
    }
    connection_.detach();
    hold_standard_descriptors();
  } while (co_await connection_.wait_attached());
  co_return std::nullopt;
}

bool Reconnection::agree(const Reconnect& agreed) {
  if (connection_.keeps_sent())
    throw Error(Exit::kVersion, "unexpected message", message_name(agreed));
  try {
    LinkDoor::Taken taken = [this](const Resume& offer, std::unique_ptr<ByteStream> stream,
                                   std::string received) {
      (void)resume(offer, std::move(stream), std::move(received));
    };
    door_.emplace(context_, tasks_, std::move(taken), agreed.link);
  } catch (const Error& error) {
    problem_ = std::string("cannot be found again if the connection is lost: ") + error.what();
    connection_.send(Notice{problem_});
    return false;
  }
  token_ = agreed.token;
  // Only now that the launcher can come back: kept frames cost memory.
  connection_.keep_sent();
  return true;
}

void Reconnection::take(JoinTree order) {
  if (tree_ || (!door_ && problem_.empty())) {
    throw Error(Exit::kVersion, "unexpected message", message_name(order));
  }
  // Without kept frames nothing could continue on a branch.
  if (!door_) return connection_.send(TreeJoined{0, problem_});
  TreeSeat::Talk talk;
  talk.offered = [this](const Resume& offer, std::unique_ptr<ByteStream> stream,
                        std::string received) {
    return resume(offer, std::move(stream), std::move(received));
  };
  talk.heard = back_;
  talk.piece = [this](std::string bytes) { frames_.keep(std::move(bytes)); };
  tree_.emplace(context_, tasks_, connection_, std::move(order), std::move(talk));
  connection_.send(tree_->joined());
}

void Reconnection::take(const Relayed& parcels) {
  if (!tree_) throw Error(Exit::kVersion, "unexpected message", message_name(parcels));
  tree_->take(parcels);
}

void Reconnection::take(SharedFrame frame) {
  if (!tree_) throw Error(Exit::kVersion, "unexpected message", message_name(frame));
  for (PieceWanted& wanted : frames_.expect(std::move(frame))) connection_.send(std::move(wanted));
  pass_shared();
}

void Reconnection::take(PieceGiven piece) {
  frames_.give(std::move(piece));
  pass_shared();
}

// Nothing else is worth sharing, and orders must not wait for pieces.
void Reconnection::pass_shared() {
  for (std::string& bytes : frames_.take()) {
    FrameReader reader;
    reader.feed(std::move(bytes));
    std::optional<Message> message = reader.next();
    const bool known = message && (std::holds_alternative<PmiFenced>(*message) ||
                                   std::holds_alternative<PmixFenced>(*message));
    if (!known)
      throw Error(Exit::kVersion, "malformed SharedFrame", "it is not the end of a fence");
    shared_(std::move(*message));
  }
}

void Reconnection::beat(BootTime now) {
  if (tree_ && tree_->is_on_branch()) return connection_.send_receipt();
  connection_.send(Heartbeat{static_cast<std::uint64_t>(now.count())});
}

awaitable<void> Reconnection::wait_for_children() {
  if (tree_) co_await tree_->wait_for_children();
}

awaitable<void> Reconnection::flush() {
  if (tree_) co_await tree_->flush();
}

void Reconnection::end() {
  if (door_) door_->close();
}

bool Reconnection::resume(const Resume& offer, std::unique_ptr<ByteStream> stream,
                          std::string received) {
  LinkEnd& link = connection_.link();
  if (link.admit(offer, token_) != ResumeAnswer::kResumed) {
    stream->close();
    return false;
  }
  const Resumed answer{ResumeAnswer::kResumed, offer.attempt, link.received()};
  // False if the launcher lacks frames that are no longer kept: no stream can replace them.
  if (!connection_.attach(std::move(stream), std::move(received), offer.received, answer))
    return false;
  // The old stream may just have closed its descriptors.
  hold_standard_descriptors();
  back_();
  return true;
}

}  // namespace dtl
