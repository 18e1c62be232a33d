#include "launcher/keep/kept_connection_commands.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/text.h"
#include "base/unix_socket.h"
#include "launcher/agents/kept_connection_client.h"
#include "launcher/keep/kept_connection_holder.h"
#include "launcher/options/jobs_options.h"
#include "launcher/options/option_words.h"
#include "launcher/options/options.h"
#include "launcher/options/subcommands.h"
#include "launcher/session/background.h"

namespace dtl {
namespace {

constexpr std::string_view kKeepOptions = "Options";
constexpr int kDefaultIdleHours = 8;  // a working day

}  // namespace

std::vector<Option> keep_options(const std::string& name) {
  std::vector<Option> table;
  if (name == "up") {
    table = {
        {kKeepOptions, {"-f", "-machinefile", "-hostfile"}, Takes::kValue, "FILE", "the hosts"},
        {kKeepOptions, {"-hosts"}, Takes::kValue, "LIST", "the hosts themselves: a,b,n[01-04]"},
        {kKeepOptions,
         {"--idle"},
         Takes::kValue,
         "HOURS",
         "end after this without a launch; default 8"},
        {kKeepOptions, {"--list"}, Takes::kNothing, "", "show which connections are kept now"},
        {kKeepOptions,
         {"--accept-new-host-keys"},
         Takes::kNothing,
         "",
         "trust and remember hosts never seen before"},
    };
  }
  table.push_back({kKeepOptions, {"-h", "--help"}, Takes::kNothing, "", "this text"});
  return table;
}

namespace {

std::string help_of(const std::string& name) {
  std::string text = fmt::format("usage: dtlaunch {} [options]\n", name);
  for (const Subcommand& subcommand : subcommand_table()) {
    if (subcommand.name == name) text += fmt::format("{}.\n", subcommand.summary);
  }
  return text + options_text(keep_options(name));
}

// True when there was a holder. Its socket is gone when this returns; jobs that run over its
// connections still have them.
bool send_down() {
  KeepRequest request;
  request.what = KeepRequest::What::kDown;
  return ask_holder(request).starts_with(kKeepYes);
}

int list_hosts() {
  KeepRequest request;
  request.what = KeepRequest::What::kHosts;
  const std::string answer = ask_holder(request);
  if (!answer.starts_with(kKeepYes)) {
    log_notice("no connection is kept. Try: dtlaunch up -f hosts");
    return 1;
  }
  write_all(STDOUT_FILENO, answer.substr(std::string(kKeepYes).size()));
  return 0;
}

std::vector<Host> remote_hosts(const OptionWords& words) {
  if (!words.has("-hostfile") && !words.has("-hosts")) {
    throw Error(Exit::kUsage, "up: no hosts are named", "", "dtlaunch up -f hosts");
  }
  std::vector<Host> hosts = read_host_options(words.value("-hostfile"), words.value("-hosts"));
  std::erase_if(hosts, is_local);
  if (hosts.empty())
    throw Error(Exit::kUsage, "up: all hosts are this machine", "no ssh is needed");
  return hosts;
}

std::chrono::seconds idle_time(const OptionWords& words) {
  if (!words.has("--idle")) return std::chrono::hours(kDefaultIdleHours);
  const std::string text = words.value("--idle");
  char* end = nullptr;
  const double hours = std::strtod(text.c_str(), &end);
  if (end != text.c_str() && *end == '\0' && hours > 0 && hours <= 10000) {
    return std::chrono::seconds(static_cast<std::int64_t>(hours * 3600 + 0.5));
  }
  throw Error(Exit::kUsage, fmt::format("--idle: '{}' is no number of hours", text), "",
              "--idle 2");
}

int hold(HolderOptions options, const StartNews& news) {
  const auto began = std::chrono::steady_clock::now();
  options.ready = [&](const std::vector<std::optional<Error>>& failures) {
    std::size_t connected = 0;
    for (const auto& failure : failures) {
      if (failure) news.said(failure->what());
      connected += failure ? 0 : 1;
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    news.said(fmt::format("{} of {} host{} connected in {:.2f} s", connected, failures.size(),
                          failures.size() == 1 ? "" : "s", took.count()));
    news.started();
  };
  run_holder(std::move(options));
  return 0;
}

int up(const OptionWords& words, StartOptions start) {
  if (words.has("--list")) return list_hosts();
  HolderOptions options;
  options.hosts = remote_hosts(words);
  options.idle = idle_time(words);
  options.start = std::move(start);
  options.start.accept_new_host_keys = words.has("--accept-new-host-keys");
  send_down();  // the hosts named now take the place of those before
  return run_in_background([&](const StartNews& news) { return hold(options, news); }, [] {});
}

int down() {
  log_notice(send_down() ? "the kept connections are closed" : "no connection is kept");
  return 0;
}

}  // namespace

int run_keep_command(const std::string& name, const std::vector<std::string>& arguments,
                     const StartOptions& start) {
  const std::vector<Option> table = keep_options(name);
  const std::string help = fmt::format("dtlaunch {} --help", name);
  const OptionWords words = read_option_words(table, arguments, help);
  if (!words.rest.empty()) {
    throw Error(Exit::kUsage, fmt::format("{}: unexpected '{}'", name, words.rest[0]), "", help);
  }
  if (words.has("--help")) {
    write_all(STDOUT_FILENO, help_of(name));
    return 0;
  }
  return name == "up" ? up(words, start) : down();
}

}  // namespace dtl
