#pragma once
// How the agents of a job, or of a command, start: turns its options and its scheduler into
// functions for a session. Only this file combines the description of a job with the rooms of ways
// to start agents (ssh, carriers, steps, `dtlaunch up`).

#include <optional>

#include "launcher/agents/agent_start.h"
#include "launcher/keep/kept_connection_commands.h"
#include "launcher/request/job_request.h"
#include "launcher/session/session.h"

namespace dtl {

// This process's, with functions for --discover's command and a scheduler's program.
Surroundings asking_surroundings();

// For hosts reached over ssh, whatever has started dtlaunch.
StartOptions start_options(const Surroundings& around, bool accept_new_host_keys);
// For a described job: uses its scheduler's carrier or step if it has one.
StartOptions start_options(const JobSettings& settings, const Surroundings& around,
                           bool accept_new_host_keys);

// --push: the programs that hosts need for the request, and who feeds whom.
void add_programs(StartOptions& start, const Request& request, const Surroundings& around);

// Throws Error(kUsage) if --port-range has too few ports for a push or a tree: the connection test
// takes two of each host while its seeder and its place in the tree have theirs. Without this check
// a host would say that no port is free. tree: of width_of_tree(). Call it after add_programs().
void check_port_range(const Request& request, const StartOptions& start, std::optional<int> tree);

// --sync and --venv: what travels to the job's hosts, before their agents serve the job. Says what
// it found; with options.dry_run nothing travels. Throws Error if it cannot.
void add_folders(StartOptions& start, SessionOptions& options, const JobSettings& settings);

// The scheduler's job around this process, if `dtlaunch up` can keep agents in a step of it.
std::optional<SchedulerJob> find_scheduler_job();

// `how`: -launcher. The functions keep a copy of `start` and may run for many hosts at once.
AgentStarter agent_starter(const StartOptions& start, AgentStart how = {});
// The width of the job's tree of agents: --tree, or 0 if dtlaunch must talk to all of them
// directly. Throws Error if the user wants a tree that cannot be.
std::optional<int> width_of_tree(const JobSettings& settings, const StartOptions& start);
// Finds an agent again that was reached by a login (--reconnect).
AgentFinder agent_finder(const StartOptions& start);

}  // namespace dtl
