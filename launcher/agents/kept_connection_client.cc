// A holder that is stopped is passed over at once, and one that hangs costs a start two seconds.
#include "launcher/agents/kept_connection_client.h"

#include <poll.h>
#include <unistd.h>

#include <utility>

#include "base/error.h"
#include "base/machine/process_id.h"
#include "base/machine/runtime_folder.h"
#include "base/machine/unix_socket.h"
#include "launcher/streams/socket_stream.h"
#include "wire/deadline.h"

namespace dtl {
namespace {

constexpr auto kHolderPatience = 2s;  // it answers before it does anything, but just after `up` it
                                      // is starting an agent for each of a thousand hosts

Fd connect_holder(const std::string& job) {
  // `dtlaunch up` may have run in another environment: without XDG_RUNTIME_DIR its folder differs.
  for (const std::string& folder : runtime_folders()) {
    Fd socket = connect_unix(folder + "/" + holder_socket(job));
    if (socket.valid()) return socket;
  }
  return Fd();
}

// Reads the holder's first line and leaves the bytes after it in `rest`. False for any answer but
// yes, and for no answer in time.
awaitable<bool> is_yes(asio::io_context& context, ByteStream& stream, std::string* rest) {
  const StreamDeadline deadline(context, stream, kHolderPatience);
  std::string received;
  while (received.find('\n') == std::string::npos) {
    const std::string bytes = co_await stream.read();
    if (bytes.empty()) break;
    received += bytes;
  }
  const std::string yes = kKeepYes;
  if (!received.starts_with(yes)) co_return false;
  *rest = received.substr(yes.size());
  co_return true;
}

}  // namespace

awaitable<std::unique_ptr<AgentStream>> start_kept_agent(asio::io_context& context, Host host,
                                                         StartOptions options) {
  Fd socket = connect_holder(options.kept_job);
  if (!socket.valid()) co_return nullptr;
  ProcessHandle holder = peer_process(socket.get());
  if (process_state(holder.pid()) == ProcessState::kStopped) co_return nullptr;
  auto stream = std::make_unique<SocketStream>(context, std::move(socket));
  // If the holder dies, the message then blames it and not the host.
  stream->is_handed_on_by(std::move(holder));
  KeepRequest request;
  request.host = std::move(host);
  request.agent_path = options.agent_path;
  try {
    std::string line = to_line(request);
    co_await stream->write(std::move(line));
    std::string rest;
    if (!co_await is_yes(context, *stream, &rest)) co_return nullptr;
    stream->unread(std::move(rest));
    std::string greeting = co_await read_greeting(context, *stream, options.deadline);
    if (greeting.empty()) co_return nullptr;
    stream->unread(std::move(greeting));
    co_return stream;
  } catch (const Error&) {
    co_return nullptr;
  }
}

std::string ask_holder(const KeepRequest& request, const std::string& job) {
  // Between two pieces of the answer. The holder closes the socket after the last piece.
  constexpr int kPatienceMs = 2000;
  const Fd socket = connect_holder(job);
  if (!socket.valid()) return {};
  try {
    write_all(socket.get(), to_line(request));
  } catch (const Error&) {
    return {};  // it has just ended
  }
  std::string answer;
  for (;;) {
    pollfd waiting{socket.get(), POLLIN, 0};
    char buffer[4096];
    if (::poll(&waiting, 1, kPatienceMs) <= 0) return answer;
    const ssize_t size = ::read(socket.get(), buffer, sizeof buffer);
    if (size <= 0) return answer;
    answer.append(buffer, static_cast<std::size_t>(size));
  }
}

}  // namespace dtl
