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
                           std::function<void()> back)
    : context_(context), tasks_(tasks), connection_(connection), back_(std::move(back)) {}

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
      resume(offer, std::move(stream), std::move(received));
    };
    door_.emplace(context_, tasks_, std::move(taken), agreed.link);
  } catch (const Error& error) {
    connection_.send(
        Notice{std::string("cannot be found again if the connection is lost: ") + error.what()});
    return false;
  }
  token_ = agreed.token;
  // Only now that the launcher can come back: kept frames cost memory.
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
  // False if the launcher lacks frames that are no longer kept: no stream can replace them.
  if (!connection_.attach(std::move(stream), std::move(received), offer.received, answer)) return;
  // The old stream may just have closed its descriptors.
  hold_standard_descriptors();
  back_();
}

}  // namespace dtl
