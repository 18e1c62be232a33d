#pragma once
// How agents come to life: as a local child, by the service's socket, over ssh, or by a scheduler.
// Nothing above this file can tell the difference. Every failure is an Error whose text names the
// host, the reason and what to try next, with the exit status of the man page.

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/limits.h"
#include "launcher/agents/bundle.h"
#include "launcher/agents/late_hosts.h"
#include "launcher/ssh/settings.h"
#include "launcher/streams/agent_stream.h"
#include "plan/request/host.h"
#include "wire/asio.h"

namespace dtl {

class AgentStep;

struct StartOptions {
  std::string agent_path;  // absolute path of dtagent beside dtlaunch
  SshTrust trust = {};
  std::chrono::milliseconds deadline = kSshDeadline;  // of start_ssh_agent, in all
  // --push: sent to hosts that have nothing that fits. All hosts share it.
  std::shared_ptr<const Bundle> bundle = nullptr;
  // A scheduler's command that brings another command to a host, such as "blaunch". It replaces
  // ssh; see carried_agent.h. Empty: ssh.
  std::vector<std::string> carrier = {};
  // Set: hosts may come later than this launcher. All hosts share it.
  std::shared_ptr<LateHosts> late = nullptr;
  // Set: agents of the hosts that it takes live in this step, whatever else is set here.
  std::shared_ptr<AgentStep> step = nullptr;
  // The scheduler's job whose `dtlaunch up` has agents for the step's hosts. Empty: none.
  std::string kept_job = {};
  int input = -1;  // our standard input, for the ranks of an agent that is our child; -1: none
  // The user's service may be asked for an agent. False in a scheduler's job, which does not watch
  // what the service starts.
  bool service = true;
};

// True for a host that means this machine without ssh: localhost, 127.0.0.0/8, ::1, or by `here`.
bool is_local(const Host& host);

// An agent of this user's service on this machine. If there is none, dtagent as a child of this
// process, over a socket pair.
awaitable<std::unique_ptr<AgentStream>> start_local_agent(asio::io_context& context,
                                                          StartOptions options);

// An agent in options.step, which must be set: one that `dtlaunch up` keeps in the same job of the
// scheduler, otherwise a new one.
awaitable<std::unique_ptr<AgentStream>> start_step_agent(asio::io_context& context, Host host,
                                                         StartOptions options);

// An agent over a connection that `dtlaunch up` keeps. Without one it takes these steps: resolve
// (kResolveDeadline, in a bounded pool of threads), connect to the first address that answers
// (kConnectDeadline), check the host key, authenticate, and run agent_command() with --stdio. It
// returns when the agent's marker line has arrived. The first read() gives that line back, with
// whatever came before and after it. All of it ends within options.deadline; a push may go on for
// longer as long as bytes move.
awaitable<std::unique_ptr<AgentStream>> start_ssh_agent(asio::io_context& context, Host host,
                                                        StartOptions options);

// dtagent with other arguments than --stdio: in the step, here, by the carrier or over ssh. The
// stream has all that dtagent and the login shell write on standard output. The arguments must hold
// only characters that no shell changes: they are not quoted. The login is done within
// options.deadline; the caller limits what follows.
awaitable<std::unique_ptr<AgentStream>> run_agent(asio::io_context& context, Host host,
                                                  StartOptions options,
                                                  std::vector<std::string> arguments);

// Without starting an agent: brings options.bundle to a host that has nothing that fits, or removes
// what was brought there. remove_pushed() returns the folder; empty: there was nothing.
awaitable<Pushed> push_to(asio::io_context& context, Host host, StartOptions options);
awaitable<std::string> remove_pushed(asio::io_context& context, Host host, StartOptions options);

}  // namespace dtl
