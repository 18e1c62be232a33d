#pragma once
// How agents come to life: a local child, the service's socket, ssh, or an engine. Nothing above
// this file can tell the difference. Every failure is an Error whose text names the host, the
// reason and the next thing to try, with the exit status of the man page.

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
  std::shared_ptr<const Bundle> bundle = nullptr;  // --push: sent where nothing that fits is there;
                                                   // shared by all hosts
  std::vector<std::string> carrier = {};  // an engine's command that brings another to a host, in
                                          // the place of ssh: "blaunch"; see carried_agent.h
  std::shared_ptr<LateHosts> late = nullptr;  // hosts may come later than we; shared by all of them
  std::shared_ptr<AgentStep> step = nullptr;  // in the place of all of them, for the hosts that it
                                              // takes: agents live in it; shared by all hosts
  std::string kept_job = {};  // of an engine's, whose `dtlaunch up` has agents for the step's hosts
  int input = -1;       // our standard input, for the ranks of an agent that is our child; -1: none
  bool service = true;  // the user's own may be asked; it is outside of what an engine watches
};

// True for a host that means this machine without ssh: localhost, 127.0.0.0/8, ::1, or by `here`.
bool is_local(const Host& host);

// An agent of this user's service on this machine, or else dtagent as a child of this process,
// speaking over a socket pair.
awaitable<std::unique_ptr<AgentStream>> start_local_agent(asio::io_context& context,
                                                          StartOptions options);

// An agent in options.step: one that `dtlaunch up` keeps in the same job of the engine's, else a
// new one.
awaitable<std::unique_ptr<AgentStream>> start_step_agent(asio::io_context& context, Host host,
                                                         StartOptions options);

// An agent over a connection that `dtlaunch up` keeps; without one:
// Resolve (kResolveDeadline, in a bounded pool of threads), connect to the first address that
// answers (kConnectDeadline), host key, authenticate, exec `<agent_path> --stdio`, or where there
// is no such file `dtagent --stdio` from the remote PATH; returns when the agent's marker line has
// arrived, which the first read() gives back with whatever came before and after it. All within
// options.deadline.
awaitable<std::unique_ptr<AgentStream>> start_ssh_agent(asio::io_context& context, Host host,
                                                        StartOptions options);

// dtagent with other arguments than --stdio, here, by the carrier or over ssh: what it and the
// login shell write on standard output. The arguments hold only what no shell reads in its own way.
// The login is done within options.deadline.
awaitable<std::unique_ptr<AgentStream>> run_agent(asio::io_context& context, Host host,
                                                  StartOptions options,
                                                  std::vector<std::string> arguments);

// Without starting anything: options.bundle is brought to a host where nothing that fits is there,
// or what was brought there is removed (returns its folder; empty: there was nothing).
awaitable<Pushed> push_to(asio::io_context& context, Host host, StartOptions options);
awaitable<std::string> remove_pushed(asio::io_context& context, Host host, StartOptions options);

}  // namespace dtl
