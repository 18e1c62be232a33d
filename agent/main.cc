// dtagent: the part of dtlaunch that runs on every node. dtlaunch starts it, over ssh or as a local
// child, and exchanges frames with it over its standard input and output. See dtagent(8). This file
// selects the action and prepares the process; the folders beside it do the work. The order
// matters: first the inherited descriptors, then the keeper's fork, while there is one thread, then
// the session.

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "agent/ask/ask_job.h"
#include "agent/cloud/cloud_talk.h"
#include "agent/container/holder.h"
#include "agent/cores/core_owner.h"
#include "agent/cores/cores_text.h"
#include "agent/cores/tickets.h"
#include "agent/entrance/bridge.h"
#include "agent/entrance/keeper.h"
#include "agent/entrance/receive_folder.h"
#include "agent/entrance/receive_push.h"
#include "agent/entrance/service.h"
#include "agent/job/session.h"
#include "agent/jobs/clean_leftovers.h"
#include "agent/jobs/fence.h"
#include "agent/jobs/jobs_here.h"
#include "agent/jobs/unused_segments.h"
#include "agent/node/detect.h"
#include "agent/node/nics.h"
#include "agent/options.h"
#include "agent/processes/kill_tree.h"
#include "agent/watch/watch_jobs.h"
#include "base/error.h"
#include "base/library.h"
#include "base/log.h"
#include "base/machine/close_from.h"
#include "base/machine/job_record.h"
#include "base/machine/memory_limit.h"
#include "base/machine/process_handle.h"
#include "base/random.h"
#include "base/sha256.h"
#include "base/text.h"
#include "base/tls/psk_tls.h"
#include "wire/boost_library.h"
#include "wire/frame.h"
#include "wire/greeting.h"
#include "wire/messages.h"

namespace dtl {
namespace {

// An idle agent exits if the launcher's side sends nothing for this long. That side sends a newline
// every 20 s, so some may be late.
constexpr int kIdleMs = 90'000;

struct CommandLine {
  int count = 0;
  char** words = nullptr;  // main's
};

void say(const std::string& text) {
  write_all(STDOUT_FILENO, text);
}

// dtguard is in the same folder. Not from argv[0]: over ssh that is whatever the shell found on its
// PATH.
std::string own_folder() {
  std::string path(4096, '\0');
  const ssize_t size = ::readlink("/proc/self/exe", path.data(), path.size());
  if (size <= 0) throw system_error("cannot find dtagent's own folder");
  path.resize(static_cast<std::size_t>(size));
  return path.substr(0, path.rfind('/'));
}

// Makes sure that descriptors 0 to 2 exist, that nothing else is inherited except --input's
// descriptor, and that a terminal's ^C does not reach us. Must precede every open: a file with
// number 0, 1 or 2 would be mistaken for the launcher's stream.
void clean_up_inheritance(bool input = false) {
  for (int fd = 0; fd <= 2; ++fd) {
    if (::fcntl(fd, F_GETFD) < 0) ::open("/dev/null", O_RDWR);
  }
  close_from(input ? kInputDescriptor + 1 : 3);
  ::setsid();
  // If the launcher is gone, write(2) fails, and the session turns that into an event.
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);  // a file over the size limit is an ordinary error
  // Processes of a dead guard become our children, so that we find and kill them.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

// A scheduler such as Slurm sends its signals to every process of a job. The dtlaunch that started
// this agent gets them too, and decides. The guard inherits the ignored signals; ranks get the
// default actions.
void ignore_signals() {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2}) ::signal(signal, SIG_IGN);
}

std::string make_nonce() {
  return to_hex(random_bytes(16, "draw a nonce"));
}

// Waits for the guard, which exits when its link closes: no process of ours may outlive us. Waits
// for SIGCHLD, since polling would delay every short job.
void await_guard() {
  constexpr timespec kWait{1, 0};  // it only has to exit
  sigset_t child;
  ::sigemptyset(&child);
  ::sigaddset(&child, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &child, nullptr);  // before checking, so that no exit is missed
  pid_t ended = 0;
  do {
    ended = ::waitpid(-1, nullptr, WNOHANG);
    if (ended < 0) return;
  } while (ended > 0 || ::sigtimedwait(&child, nullptr, &kWait) == SIGCHLD);
}

void greet() {
  say(to_line({kProtocol, DTL_VERSION, make_nonce()}));
}

// Missing facts are detected while the greeting travels. received: bytes already read, so the
// greeting has been sent.
Exit serve(const std::string& folder, std::optional<NodeFacts> facts, std::string received,
           LocalLauncher launcher = {}) {
  if (received.empty()) greet();
  Exit status = Exit::kOk;
  bool has_run_ranks = false;
  {
    // In a block: await_guard() comes after the session's destructor, which removes its record and
    // files.
    AgentSession session(folder, Fd(STDIN_FILENO), Fd(STDOUT_FILENO), std::move(received),
                         std::move(launcher));
    status = session.run(std::move(facts));
    has_run_ranks = session.has_run_ranks();
  }
  await_guard();
  if (has_run_ranks) remove_unused_segments();
  return status;
}

void refuse_terminal() {
  if (::isatty(STDIN_FILENO) == 0) return;
  throw Error(Exit::kUsage, "standard input is a terminal", "only dtlaunch starts dtagent",
              "dtlaunch --help");
}

// Close-on-exec: only ranks with the launcher's input get it, as their standard input.
Fd take_launchers_input() {
  if (::fcntl(kInputDescriptor, F_SETFD, FD_CLOEXEC) == 0) return Fd(kInputDescriptor);
  throw Error(Exit::kUsage, "--input", "descriptor 3 is not open", "dtlaunch --help");
}

// child: our parent is the launcher.
Exit serve_here(CommandLine line, bool input, bool child) {
  refuse_terminal();
  clean_up_inheritance(input);
  LocalLauncher launcher;
  // Before the keeper's fork: after it our parent is the keeper.
  if (child) launcher.process = ::getppid();
  if (input) launcher.input = take_launchers_input();
  go_on_below_keeper(line.count, line.words);
  return serve(own_folder(), std::nullopt, {}, std::move(launcher));
}

// Uses this user's service if it runs. Asking here, on the node, costs no round trip.
Exit serve_anyhow(CommandLine line) {
  refuse_terminal();
  clean_up_inheritance();
  ServiceAgent service = ask_service();
  // A bridge needs no keeper: the service's agent, which owns the ranks, has its own.
  if (!service.socket.valid()) {
    go_on_below_keeper(line.count, line.words);
    return serve(own_folder(), std::nullopt, {});
  }
  run_bridge(std::move(service), Fd(STDIN_FILENO), Fd(STDOUT_FILENO));
  return Exit::kOk;
}

Exit bridge() {
  refuse_terminal();
  clean_up_inheritance();
  ServiceAgent service = ask_service();
  if (!service.socket.valid()) {
    throw Error(Exit::kOs, "cannot reach this user's dtagent service",
                "none is running on this node, or one of another version",
                "systemctl --user enable --now dtagent.socket, or: dtagent --service");
  }
  run_bridge(std::move(service), Fd(STDIN_FILENO), Fd(STDOUT_FILENO));
  return Exit::kOk;
}

// Connects a launcher with the agent that it lost. If that agent has ended, a Resumed frame says
// so. Greets before looking for it: a launcher always expects a greeting first.
Exit rejoin(const std::string& link) {
  refuse_terminal();
  clean_up_inheritance();
  greet();
  Fd agent = find_agent_of(link);
  if (!agent.valid()) {
    const Frame answer = encode_frame(Resumed{ResumeAnswer::kGone, 0, 0}, 0);
    say(answer.head + answer.tail);
    return Exit::kOk;
  }
  run_bridge({std::move(agent), {}}, Fd(STDIN_FILENO), Fd(STDOUT_FILENO));
  log_error("the agent has ended, or goes on over another connection");
  return Exit::kOs;
}

// False if nobody will connect. Newlines before the first frame only show that the other side still
// exists. Reads one byte at a time, as the job's process reads the bytes after the first.
bool await_launcher(char* first) {
  for (;;) {
    pollfd waiting{STDIN_FILENO, POLLIN, 0};
    if (::poll(&waiting, 1, kIdleMs) <= 0 || ::read(STDIN_FILENO, first, 1) <= 0) return false;
    if (*first != '\n') return true;
  }
}

// Undoes what a job's agent set: the non-blocking flag belongs to the open file, which it shares
// with us.
void make_blocking_again() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO}) {
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  }
}

// Detects facts and greets long before a launcher needs them. Each job runs in a separate process,
// so nothing of one job reaches the next.
Exit serve_when_asked(CommandLine line) {
  refuse_terminal();
  clean_up_inheritance();
  go_on_below_keeper(line.count, line.words);
  const std::string folder = own_folder();
  NodeFacts facts = detect_node();
  for (;;) {
    make_blocking_again();
    greet();
    char first = 0;
    if (!await_launcher(&first)) return Exit::kOk;
    // A fork without exec: the facts are there, so the job's process is ready at once.
    const pid_t job = ::fork();
    if (job < 0) throw fork_error("cannot start a job's agent");
    if (job == 0) {
      ::prctl(PR_SET_CHILD_SUBREAPER, 1);  // not inherited
      facts.nics = list_nics();            // may have changed
      return serve(folder, std::move(facts), std::string(1, first));
    }
    int status = 0;
    ::waitpid(job, &status, 0);
    // After a broken conversation the stream may hold half a frame, so no other launcher may use
    // it.
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return Exit::kOs;
  }
}

Exit list_cores() {
  const NodeTopology topology = detect_node().topology;
  // Before the marker, so that an error does not look like an answer.
  const auto sockets = job_sockets_here();
  const std::string text = cores_text(topology, claims_on_node(sockets, topology.allowed),
                                      tickets_on_node(sockets, topology.allowed));
  begin_answer();
  say(text);
  return Exit::kOk;
}

// A job id or the name of a link.
std::string id_of(const std::string& option, const std::string& text) {
  static_assert(kLinkDigits == 16);
  if (text.size() == kLinkDigits && is_job_id_prefix(text)) return text;
  throw Error(Exit::kUsage, option + " " + text, "not 16 hexadecimal digits", "dtagent --jobs");
}

int signal_of(const AgentOptions& asked) {
  const auto number = parse_integer(asked.words[0], 1, SIGRTMAX);
  if (number) return static_cast<int>(*number);
  throw Error(Exit::kUsage, "--end " + asked.end + " " + asked.words[0],
              "the signal is not a number (1 to " + std::to_string(SIGRTMAX) + ")", "kill -l");
}

void show_version(bool libraries) {
  say("dtagent " DTL_VERSION " (protocol " + std::to_string(kProtocol) + ")\n");
  if (libraries) {
    say(library_lines(
        {boost_library(), crypto_library(), hwloc_library(), json_library(), tls_library()}));
  }
}

// Empty if no text was asked for.
std::string text_asked_for(const AgentOptions& asked) {
  if (asked.help) return help_text();
  return asked.shell.empty() ? "" : completion_script("dtagent", asked.shell);
}

Exit run(const AgentOptions& asked, CommandLine line) {
  // parse_agent_options() has checked that exactly one action is asked for.
  if (asked.stdio) return serve_anyhow(line);
  if (asked.unsignalled) ignore_signals();
  if (asked.serve) return serve_here(line, asked.input, asked.child);
  if (asked.idle) return serve_when_asked(line);
  if (asked.bridge) return bridge();
  if (!asked.rejoin.empty()) return rejoin(id_of("--rejoin", asked.rejoin));
  if (asked.service) return run_service(own_folder(), asked.allow_root);
  if (asked.hold) return hold_container();
  if (asked.jobs) return list_jobs();
  if (asked.cores) return list_cores();
  if (asked.clean) return clean_up();
  if (asked.sweep) return sweep_up();
  if (!asked.clean_job.empty()) return clean_up_after(id_of("--clean-job", asked.clean_job));
  if (!asked.fence.empty()) return fence_job(id_of("--fence", asked.fence));
  if (!asked.end.empty()) return end_job(id_of("--end", asked.end), signal_of(asked));
  if (!asked.ask.empty()) return ask_job(id_of("--ask", asked.ask), asked.native);
  if (!asked.watch.empty()) return watch_jobs(parse_watch_wish(asked.watch, asked.words[0]));
  if (!asked.log_of.empty()) {
    return send_log(id_of("--log", asked.log_of), {asked.follow, asked.from_end, asked.after});
  }
  if (!asked.receive.empty()) {
    std::vector<std::string> words = asked.words;
    words.insert(words.begin(), asked.receive);
    receive_files(own_folder(), words);
  } else if (asked.receive_folder) {
    receive_folder();
  } else if (asked.version) {
    show_version(asked.verbose);
  } else {
    say(text_asked_for(asked));
  }
  return Exit::kOk;
}

}  // namespace
}  // namespace dtl

int main(int argc, char** argv) {
  dtl::set_program_name("dtagent");
  try {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    // Before parsing options: the words of an unfinished command line are rarely valid.
    if (!arguments.empty() && arguments[0] == dtl::kCompleteCommand) {
      dtl::say(
          dtl::completion_answer(dtl::own_completion(), {arguments.begin() + 1, arguments.end()}));
      return 0;
    }
    return static_cast<int>(dtl::run(dtl::parse_agent_options(arguments), {argc, argv}));
  } catch (const dtl::Error& error) {
    dtl::log_error(error.what());
    return static_cast<int>(error.status());
  } catch (const std::exception& error) {
    const auto resource = dtl::resource_error(error);
    dtl::log_error(resource ? resource->what() : error.what());
    return static_cast<int>(resource ? dtl::Exit::kOs : dtl::Exit::kInternal);
  }
}
