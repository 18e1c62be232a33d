#include "launcher/step/srun_step.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/random.h"
#include "base/text.h"
#include "launcher/step/srun_command.h"
#include "launcher/step/srun_watch.h"
#include "plan/engines/engine.h"
#include "plan/name_list.h"
#include "wire/deadline.h"
#include "wire/greeting.h"

namespace dtl {
namespace {

using namespace std::chrono_literals;

constexpr auto kVersionPatience = 2s;  // for srun --version; without a slurm.conf it asks around
constexpr auto kTellPatience = 5s;     // for nodes to take the job's status
constexpr auto kEndPatience = 2s;      // for srun to end after them; tens of milliseconds are usual
constexpr auto kSrunMoment = 300ms;    // from a node's end to srun's words about it
constexpr auto kLook = 10ms;

std::string program_on_path(const std::string& name, const Variables& environment) {
  for (const auto& [variable, value] : environment) {
    if (variable != "PATH") continue;
    for (const std::string& folder : split(value, ':')) {
      const std::string file = folder + "/" + name;
      if (folder.starts_with('/') && ::access(file.c_str(), X_OK) == 0) return file;
    }
  }
  throw Error(Exit::kOs, "cannot start agents", fmt::format("there is no {} on PATH", name),
              "-launcher ssh, where the engine allows that");
}

std::vector<std::string> entries_of(const Variables& environment) {
  std::vector<std::string> entries;
  for (const auto& [name, value] : environment) {
    if (name != "DTL_TOKEN") entries.push_back(name + "=" + value);
  }
  return entries;
}

// nullopt without an answer in time.
std::optional<SlurmVersion> ask_version(const std::string& srun,
                                        const std::vector<std::string>& environment) {
  Child child = spawn_child({srun, "--version"}, ChildErrors::kPiped, environment);
  std::string text;
  pollfd waits{child.socket.get(), POLLIN, 0};
  const auto until = std::chrono::steady_clock::now() + kVersionPatience;
  for (char bytes[256];;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    if (left.count() <= 0 || ::poll(&waits, 1, static_cast<int>(left.count())) <= 0) {
      ::kill(-child.pid, SIGKILL);
      log_verbose("srun --version has not answered in time");
      return std::nullopt;
    }
    const ssize_t count = ::read(child.socket.get(), bytes, sizeof bytes);
    if (count <= 0 || text.size() > 4096) break;
    text.append(bytes, static_cast<std::size_t>(count));
  }
  pollfd process{child.process.get(), POLLIN, 0};
  ::poll(&process, 1, static_cast<int>(std::chrono::milliseconds(kVersionPatience).count()));
  return parse_slurm_version(text);
}

class StepStream final : public AgentStream {
 public:
  StepStream(asio::io_context& context, std::unique_ptr<AgentStream> stream,
             std::shared_ptr<SrunWatch> srun)
      : look_(context), stream_(std::move(stream)), srun_(std::move(srun)) {}

  awaitable<std::string> read() override {
    if (!received_.empty()) co_return std::exchange(received_, {});
    std::string bytes = co_await stream_->read();
    if (bytes.empty() && !closed_ && stream_->ending() == kConnectionLost) co_await hear_srun();
    co_return bytes;
  }
  awaitable<void> write_pieces(std::vector<std::string> pieces) override {
    return stream_->write_pieces(std::move(pieces));
  }
  void close() override {
    closed_ = true;
    stream_->close();
  }
  std::string standard_error() const override { return srun_->words(); }
  std::string ending() const override {
    const std::string own = stream_->ending(), of_srun = srun_->ending();
    return own == kConnectionLost && !of_srun.empty() ? "srun ended: " + of_srun : own;
  }

  // Gives bytes back: the next read() returns them.
  void unread(std::string bytes) { received_ = std::move(bytes); }

 private:
  // Where srun's end is why the connection is lost.
  awaitable<void> hear_srun() {
    const auto until = std::chrono::steady_clock::now() + kSrunMoment;
    while (srun_->ending().empty() && std::chrono::steady_clock::now() < until) {
      look_.expires_after(kLook);
      boost::system::error_code ignored;
      co_await look_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    }
  }

  asio::steady_timer look_;
  std::unique_ptr<AgentStream> stream_;
  std::shared_ptr<SrunWatch> srun_;  // shared with its step
  std::string received_;
  bool closed_ = false;
};

Error no_agent(const Host& host, const AgentStream& stream, bool late) {
  const std::string ending = stream.ending();
  std::string reason = late             ? std::string("srun has not brought it there in time")
                       : ending.empty() ? std::string("the end of its stream")
                                        : ending;
  const std::string said = last_line(stream.standard_error());
  if (!said.empty()) reason += fmt::format(", saying \"{}\"", said);
  return Error(late ? Exit::kUnreachable : Exit::kOs, "cannot start agent", reason,
               fmt::format("srun --overlap -N 1 -n 1 -w {} hostname", host.name));
}

awaitable<void> wait_for_greeting(asio::io_context& context, StepStream& stream, Host host,
                                  std::chrono::seconds wait) {
  const StreamDeadline patience(context, stream, wait);
  std::string received;
  while (!find_greeting(received)) {
    const std::string bytes = co_await stream.read();
    if (bytes.empty()) throw no_agent(host, stream, patience.passed());
    received += bytes;
  }
  stream.unread(std::move(received));
}

std::string missing_in(const JoinRoom& room, const std::vector<std::string>& nodes) {
  std::vector<std::string> names;
  const std::vector<std::string> present = room.present();
  for (std::size_t i = 0; i < present.size(); ++i) {
    if (present[i].empty()) names.push_back(nodes[i]);
  }
  return names.empty() ? std::string() : first_names(names);
}

}  // namespace

SrunStep::SrunStep(SrunStepOptions options) : options_(std::move(options)) {}

SrunStep::~SrunStep() {
  finish(static_cast<int>(Exit::kInternal));
}

std::size_t SrunStep::place_of(const Host& host) const {
  const auto found =
      std::find_if(options_.nodes.begin(), options_.nodes.end(), [&](const Host& node) {
        return node.name == host.name || (host.here && node.here) ||
               same_host_name(node.name, host.name);
      });
  if (found != options_.nodes.end()) {
    return static_cast<std::size_t>(found - options_.nodes.begin());
  }
  throw Error(Exit::kUsage, "cannot start agent", "srun has brought dtlaunch to other nodes alone",
              "the node among the hosts from the beginning");
}

void SrunStep::begin() {
  const std::lock_guard lock(mutex_);
  if (room_) return;
  SrunWish wish;
  wish.srun = program_on_path("srun", options_.environment);
  for (const Host& node : options_.nodes) wish.nodes.push_back(node.name);
  wish.whole = options_.whole;
  std::vector<std::string> environment = entries_of(srun_environment(options_.environment));
  wish.version = ask_version(wish.srun, environment);
  JoinRoomOptions room;
  room.token = options_.token;
  if (room.token.empty()) {
    room.token = to_hex(random_bytes(kSecretBytes, "draw the job's token"));
    environment.push_back("DTL_TOKEN=" + room.token);
  }
  room.ports = options_.ports;
  room.expected.job = options_.job;
  room.expected.names = wish.nodes;
  room.told_to_stop = [](std::size_t, const std::string& node) {
    log_verbose(node + ": told to end by Slurm; the job ends with it");
    ::kill(::getpid(), SIGTERM);
  };
  auto opened = std::make_shared<JoinRoom>(std::move(room));
  wish.command = options_.command;
  wish.command.push_back(std::to_string(opened->port()));
  if (!options_.beside.empty()) wish.command.push_back(options_.beside);
  const std::vector<std::string> arguments = srun_arguments(wish);
  log_debug("starting " + join(arguments, " "));
  Child child = spawn_child(arguments, ChildErrors::kPiped, environment);
  room_ = std::move(opened);
  srun_ = std::make_shared<SrunWatch>(
      std::move(child),
      [room = std::weak_ptr(room_)](const std::string& how) {
        if (const auto still = room.lock()) still->give_up("srun ended: " + how);
      },
      [room = std::weak_ptr(room_), nodes = wish.nodes] {
        const auto still = room.lock();
        return still ? missing_in(*still, nodes) : std::string();
      });
}

std::unique_ptr<AgentStream> SrunStep::run(asio::io_context& context, const Host& host,
                                           const std::vector<std::string>& arguments) {
  const std::size_t place = place_of(host);
  begin();
  return std::make_unique<StepStream>(context, room_->start_agent(context, place, arguments),
                                      srun_);
}

awaitable<std::unique_ptr<AgentStream>> SrunStep::start(asio::io_context& context, Host host) {
  try {
    const std::size_t place = place_of(host);
    begin();
    auto stream = std::make_unique<StepStream>(context, room_->start_agent(context, place), srun_);
    co_await wait_for_greeting(context, *stream, host, options_.patience);
    co_return stream;
  } catch (const Error& error) {
    throw error.with_context(host.name);
  }
}

void SrunStep::finish(int status) {
  const std::lock_guard lock(mutex_);
  if (!room_) return;
  if (srun_->ending().empty()) {
    room_->finish(status, kTellPatience);
    // Nodes that have gone without a word, or never came, are Slurm's to end.
    for (const int signal : {0, SIGTERM, SIGKILL}) {
      if (signal != 0) srun_->signal(signal);
      if (srun_->wait_for_end(kEndPatience)) break;
    }
  }
  srun_.reset();
  room_.reset();
}

}  // namespace dtl
