// Any process of this user may connect. So each connection gets a short time, and few may wait at
// once: they cannot hold up the job.
#include "agent/job/link_door.h"

#include <unistd.h>

#include <optional>
#include <utility>

#include "agent/tree/resume_offer.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/machine/job_record.h"
#include "base/machine/runtime_folder.h"
#include "base/machine/unix_socket.h"
#include "wire/deadline.h"
#include "wire/fd_stream.h"

namespace dtl {
namespace {

constexpr int kMostWaiting = 8;  // a launcher connects once at a time

// Checked before it becomes part of a path: the name comes from the network.
std::string socket_of(const std::string& link) {
  if (link.size() != kLinkDigits || !is_job_id_prefix(link)) {
    throw Error(Exit::kVersion, "malformed Reconnect message",
                "link has not 16 hexadecimal digits");
  }
  return runtime_subfolder(kLinksFolder) + "/" + link;
}

}  // namespace

LinkDoor::LinkDoor(asio::io_context& context, TaskGroup& tasks, Taken taken,
                   const std::string& link)
    : context_(context), taken_(std::move(taken)), listener_(context, [this, &tasks](Fd peer) {
        if (waiting_ < kMostWaiting) tasks.spawn(hear(std::move(peer)));
      }) {
  const std::string path = socket_of(link);
  listener_.start(listen_unix(path));
  path_ = path;
}

void LinkDoor::close() {
  if (path_.empty()) return;
  ::unlink(path_.c_str());
  path_.clear();
  listener_.close();
}

// The first frame must be an offer, or the connection is closed.
awaitable<void> LinkDoor::hear(Fd peer) {
  ++waiting_;
  std::unique_ptr<ByteStream> stream = make_fd_stream(context_, std::move(peer));
  std::optional<ResumeOffer> resume;
  {
    // Closes the stream at the deadline; the read then sees the end.
    const StreamDeadline deadline(context_, *stream, kHelloDeadline);
    resume = co_await hear_resume(*stream);
  }
  --waiting_;
  // close() may have run during the wait.
  if (!resume || path_.empty()) co_return;
  taken_(resume->offer, std::move(stream), std::move(resume->received));
}

}  // namespace dtl
