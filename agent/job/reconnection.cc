// Losing a stream is an event only where nobody can come back. Otherwise reading waits here for
// another stream, while the launcher's lease goes on: that ends a wait which lasts too long.
#include "agent/job/reconnection.h"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

#include "base/error.h"

namespace dtl {
namespace {

// The stream that is lost had descriptors 0 and 1. A file that got one of these numbers next would
// get what is written for the stream.
void hold_standard_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO}) {
    if (::fcntl(fd, F_GETFD) < 0) ::open("/dev/null", O_RDWR);
  }
}

}  // namespace

Reconnection::Reconnection(asio::io_context& context, TaskGroup& tasks, Connection& connection,
                           std::function<void()> back)
    : context_(context), tasks_(tasks), connection_(connection), back_(std::move(back)) {}

awaitable<std::optional<Message>> Reconnection::receive() {
  do {
    try {
      std::optional<Message> message = co_await connection_.receive();
      if (message || !door_) co_return message;
    } catch (const Error& error) {
      // Garbage is another program, or a mistake: another stream would not help.
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
      resume(offer, std::move(stream), std::move(received));
    };
    door_.emplace(context_, tasks_, std::move(taken), agreed.link);
  } catch (const Error& error) {
    connection_.send(
        Notice{std::string("cannot be found again if the connection is lost: ") + error.what()});
    return false;
  }
  token_ = agreed.token;
  // Only now that somebody can come back: what is kept costs memory.
  connection_.keep_sent();
  return true;
}

void Reconnection::end() {
  if (door_) door_->close();
}

void Reconnection::resume(const Resume& offer, std::unique_ptr<ByteStream> stream,
                          std::string received) {
  LinkEnd& link = connection_.link();
  if (link.admit(offer, token_) != ResumeAnswer::kResumed) return stream->close();
  const Resumed answer{ResumeAnswer::kResumed, offer.attempt, link.received()};
  // False when the other end lacks frames that are not kept any more: no stream can make up for
  // them.
  if (!connection_.attach(std::move(stream), std::move(received), offer.received, answer)) return;
  // The stream before may have closed its descriptors just now.
  hold_standard_descriptors();
  back_();
}

}  // namespace dtl
