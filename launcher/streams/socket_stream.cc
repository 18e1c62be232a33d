// If anything is wrong with the service or the holder, a job starts without them.
#include "launcher/streams/socket_stream.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/machine/runtime_folder.h"
#include "base/machine/unix_socket.h"
#include "wire/deadline.h"
#include "wire/fd_stream.h"
#include "wire/greeting.h"
#include "wire/messages.h"

namespace dtl {
namespace {

using namespace std::chrono_literals;

constexpr auto kServicePatience = 2s;  // a healthy service greets within 20 ms

// Under taskset, numactl or a batch system's step dtlaunch has fewer CPUs than the service, and the
// ranks must use only those.
bool has_all_cpus() {
  cpu_set_t* cpus = CPU_ALLOC(65536);
  const std::size_t size = CPU_ALLOC_SIZE(65536);
  const bool known = cpus != nullptr && ::sched_getaffinity(0, size, cpus) == 0;
  const bool all = known && CPU_COUNT_S(size, cpus) >= ::sysconf(_SC_NPROCESSORS_ONLN);
  CPU_FREE(cpus);
  return all;
}

}  // namespace

SocketStream::SocketStream(asio::io_context& context, Fd socket)
    : stream_(make_fd_stream(context, std::move(socket))) {}

std::string SocketStream::ending() const {
  const bool gone = holder_.valid() && holder_.ends_within(0ms);
  return gone ? std::string(kUpHasEnded) : std::string();
}

awaitable<std::string> SocketStream::read() {
  if (!received_.empty()) co_return std::exchange(received_, {});
  co_return co_await stream_->read();
}

awaitable<std::string> read_greeting(asio::io_context& context, ByteStream& stream,
                                     std::chrono::milliseconds patience, std::string received) {
  const StreamDeadline deadline(context, stream, patience);
  std::optional<GreetingFound> found;
  try {
    found = find_greeting(received);
    while (!found) {
      const std::string bytes = co_await stream.read();
      if (bytes.empty()) break;
      received += bytes;
      found = find_greeting(received);
    }
  } catch (const Error&) {
    found.reset();  // garbage, or the carrier broke
  }
  // An agent of another version would misread frames.
  const bool same =
      found && found->greeting.protocol == kProtocol && found->greeting.version == DTL_VERSION;
  co_return same ? received : std::string();
}

bool may_have_service_agent() {
  const auto has_socket = [](const std::string& folder) {
    return ::access((folder + "/" + kServiceSocket).c_str(), F_OK) == 0;
  };
  const std::vector<std::string> folders = runtime_folders();
  return std::any_of(folders.begin(), folders.end(), has_socket) && has_all_cpus();
}

awaitable<std::unique_ptr<AgentStream>> start_service_agent(asio::io_context& context) {
  if (!has_all_cpus()) co_return nullptr;
  // The service may have another environment and therefore another folder.
  for (const std::string& folder : runtime_folders()) {
    Fd socket = connect_unix(folder + "/" + kServiceSocket);
    if (!socket.valid()) continue;
    auto stream = std::make_unique<SocketStream>(context, std::move(socket));
    std::string greeting = co_await read_greeting(context, *stream, kServicePatience);
    if (greeting.empty()) continue;
    stream->unread(std::move(greeting));
    co_return stream;
  }
  co_return nullptr;
}

}  // namespace dtl
