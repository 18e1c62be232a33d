#pragma once
// Starts agents: as a local child, through the user's service, over ssh, or by a scheduler. Code
// above this file does not know which. Every failure is an Error whose text names the host, the
// reason and what to try next, with the exit status of the man page.

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/limits.h"
#include "launcher/agents/bundle.h"
#include "launcher/agents/late_hosts.h"
#include "launcher/agents/push_feeds.h"
#include "launcher/ssh/settings.h"
#include "launcher/streams/agent_stream.h"
#include "plan/request/host.h"
#include "wire/asio.h"

namespace dtl {

class AgentStep;
class EarlyAgent;
class FolderSync;

struct StartOptions {
  std::string agent_path;  // absolute path of dtagent beside dtlaunch
  SshTrust trust = {};
  std::chrono::milliseconds deadline = kSshDeadline;  // of start_ssh_agent, in all
  // --push: sent to hosts without suitable programs. All hosts share it.
  std::shared_ptr<const Bundles> bundles = nullptr;
  std::shared_ptr<PushFeeds> feeds = nullptr;  // set: hosts feed each other. All hosts share it.
  // A scheduler's command that runs another command on a host, such as "blaunch". It replaces ssh;
  // see carried_agent.h. Empty: ssh.
  std::vector<std::string> carrier = {};
  // Set: hosts may arrive later than this launcher. All hosts share it.
  std::shared_ptr<LateHosts> late = nullptr;
  // Set: the agents of hosts that it takes run in this step, whatever else is set here.
  std::shared_ptr<AgentStep> step = nullptr;
  // The scheduler's job whose `dtlaunch up` has agents for the step's hosts. Empty: none.
  std::string kept_job = {};
  // --sync and --venv: brought to hosts that are reached over ssh. All hosts share it.
  std::shared_ptr<FolderSync> folders = nullptr;
  int input = -1;  // our standard input, for the ranks of an agent that is our child; -1: none
  // Whether to ask the user's service for an agent. False in a scheduler's job, because the
  // scheduler does not track processes that the service starts.
  bool service = true;
  // Set: start_agent_early() may put an agent there, for the first start_local_agent().
  std::shared_ptr<EarlyAgent> early = nullptr;
};

// True for a host that means this machine without ssh: localhost, 127.0.0.0/8, ::1, or by `here`.
bool is_local(const Host& host);

// An agent of the user's service on this machine; if there is no service, dtagent as a child of
// this process, over a socket pair.
awaitable<std::unique_ptr<AgentStream>> start_local_agent(asio::io_context& context,
                                                          StartOptions options);

// Starts that child now, for a job that will need it. Does nothing if the service may have an
// agent. options.early must be set.
void start_agent_early(const StartOptions& options);

// An agent in options.step, which must be set: one that `dtlaunch up` keeps in the same job of the
// scheduler, otherwise a new one.
awaitable<std::unique_ptr<AgentStream>> start_step_agent(asio::io_context& context, Host host,
                                                         StartOptions options);

// An agent over a connection that `dtlaunch up` keeps. Without one: resolve (kResolveDeadline, in a
// bounded pool of threads), connect to the first address that answers (kConnectDeadline), check the
// host key, authenticate, and run agent_command() with --stdio. Returns when the agent's marker
// line has arrived. The first read() returns that line with whatever came before and after it. All
// of it ends within options.deadline; a push may take longer while bytes move.
awaitable<std::unique_ptr<AgentStream>> start_ssh_agent(asio::io_context& context, Host host,
                                                        StartOptions options);

// Runs dtagent with other arguments than --stdio: in the step, here, by the carrier or over ssh.
// The stream has everything that dtagent and the login shell write to standard output. The
// arguments are not quoted, so they must hold only characters that no shell changes.
// options.deadline limits the login; the caller limits the rest.
awaitable<std::unique_ptr<AgentStream>> run_agent(asio::io_context& context, Host host,
                                                  StartOptions options,
                                                  std::vector<std::string> arguments);

// Starts no agent: pushes options.bundles to a host without suitable programs, or removes what was
// pushed. With options.feeds, the host feeds others until let_go(). remove_pushed() returns the
// folder; empty: there was nothing.
awaitable<Pushed> push_to(asio::io_context& context, Host host, StartOptions options);
awaitable<std::string> remove_pushed(asio::io_context& context, Host host, StartOptions options);

}  // namespace dtl
