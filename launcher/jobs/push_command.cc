// All hosts at once, in tasks of one thread. A failure does not stop the others.
#include "launcher/jobs/push_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "launcher/agents/bundle.h"
#include "launcher/options/subcommand_options.h"
#include "wire/task_group.h"

namespace dtl {
namespace {

std::string help() {
  return "usage: dtlaunch push [options]\n"
         "Copies dtagent, dtguard, dtpmix and dttrain to ~/.cache/dtlaunch on each host.\n" +
         options_text(subcommand_options("push").options());
}

struct Place {
  Host host;
  std::string line;
  std::optional<Error> error;
};

std::string describe(const Pushed& pushed) {
  if (!pushed.from.empty()) return fmt::format("fetched from {} to {}", pushed.from, pushed.folder);
  if (pushed.sent_bytes == 0) return fmt::format("already there, {}", pushed.folder);
  return fmt::format("sent {:.1f} MB to {}", static_cast<double>(pushed.sent_bytes) / 1e6,
                     pushed.folder);
}

struct FedBundles {
  std::shared_ptr<const Bundles> bundles;
  std::shared_ptr<PushFeeds> feeds;  // all hosts share it; null: few hosts
};

// One bundle after another, each over its own login. The line names the last folder.
// left: hosts whose push goes on; the last one ends the streams of those that feed others, for
// which the context would wait.
awaitable<void> push_all(asio::io_context& context, Place* place, StartOptions start,
                         std::vector<FedBundles> all, std::size_t* left) {
  try {
    Pushed last;
    for (const auto& [bundles, feeds] : all) {
      start.bundles = bundles;
      start.feeds = feeds;
      Pushed pushed = co_await push_to(context, place->host, start);
      pushed.sent_bytes += last.sent_bytes;
      last = std::move(pushed);
    }
    place->line = describe(last);
  } catch (const Error& error) {
    place->error = error;
  }
  if (--*left > 0) co_return;
  for (const FedBundles& each : all) {
    if (each.feeds) each.feeds->let_go();
  }
}

awaitable<void> remove_all(asio::io_context& context, Place* place, StartOptions start) {
  try {
    const std::string folder = co_await remove_pushed(context, place->host, start);
    place->line = folder.empty() ? "nothing was there" : "removed from " + folder;
  } catch (const Error& error) {
    place->error = error;
  }
}

int report(const std::vector<Place>& places) {
  int status = 0;
  std::string text;
  for (const Place& place : places) {
    if (!place.error) text += fmt::format("{}: {}\n", place.host.name, place.line);
  }
  // Standard output first, so that errors are the last lines on a terminal.
  write_all(STDOUT_FILENO, text);
  for (const Place& place : places) {
    if (!place.error) continue;
    log_error(place.error->what());
    if (status == 0) status = static_cast<int>(place.error->status());
  }
  return status;
}

// Two of each architecture, with and without dttrain: jobs of other programs need not wait for it.
std::vector<FedBundles> bundles_of(const std::string& agent_path, const std::vector<Host>& hosts,
                                   PortRange ports) {
  const std::string folder = agent_path.substr(0, agent_path.rfind('/'));
  std::vector<bool> with_trainer = {false};
  // An installation without the trainer can push too.
  if (::access((folder + "/dttrain").c_str(), X_OK) == 0) with_trainer.push_back(true);
  std::vector<FedBundles> all;
  for (const bool trainer : with_trainer) {
    all.push_back({load_bundles(folder, trainer), make_push_feeds(hosts, ports)});
  }
  return all;
}

}  // namespace

int run_push_command(const std::vector<std::string>& arguments, StartOptions start) {
  const SubcommandOptions options = parse_subcommand("push", arguments);
  if (options.help) {
    write_all(STDOUT_FILENO, help());
    return 0;
  }
  refuse_words("push", options);
  if (!options.names_hosts()) {
    throw option_error("push", "needs hosts", "dtlaunch push -f FILE");
  }
  std::vector<Place> places;
  const std::vector<Host> hosts = named_hosts(options);
  for (const Host& host : hosts) {
    places.push_back({host, "this machine: nothing to do", std::nullopt});
  }
  start.trust.accept_new_host_keys = options.accept_new_host_keys;
  asio::io_context context;  // before the feeds, which keep streams of it
  // Removing needs no programs here.
  const auto bundles = options.remove ? std::vector<FedBundles>{}
                                      : bundles_of(start.agent_path, hosts, options.ports);
  auto left = static_cast<std::size_t>(
      std::count_if(hosts.begin(), hosts.end(), [](const Host& host) { return !is_local(host); }));
  run_tasks(context, [&](TaskGroup& tasks) {
    for (Place& place : places) {
      // A local agent starts from dtlaunch's folder.
      if (is_local(place.host)) continue;
      tasks.spawn(options.remove ? remove_all(context, &place, start)
                                 : push_all(context, &place, start, bundles, &left));
    }
  });
  return report(places);
}

}  // namespace dtl
