#pragma once
// LiveView: the io_context of `dtlaunch top`: frames arrive from all hosts, and a page is shown
// each period, on a terminal or as JSON lines, until the user or the watched job ends it; or one
// page, as soon as it has something to say. One thread.

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/job_time.h"
#include "launcher/agents/agent_start.h"
#include "launcher/screen/json_answer.h"
#include "launcher/top/top_model.h"
#include "launcher/top/top_screen.h"
#include "launcher/top/watched_hosts.h"
#include "plan/request/host.h"
#include "wire/asio.h"
#include "wire/task_group.h"

namespace dtl {

struct LiveWish {
  enum class Show { kTerminal, kLines, kOnce };
  Show show = Show::kOnce;
  bool json = false;           // with kOnce
  bool color = false;          // of text
  std::optional<int> columns;  // with kOnce; nullopt: nothing is cut
  std::string job_id;          // only this job; empty: all
  std::chrono::milliseconds period{0};
  // Also the hosts that this machine's launchers name.
  bool follow_launchers = false;
};

class LiveView {
 public:
  LiveView(LiveWish wish, StartOptions start);

  // Returns when it is over. Throws Error.
  void run(const std::vector<Host>& hosts);

  // What is known then:
  int status() const { return status_; }  // exit status
  bool job_is_over() const { return job_is_over_; }
  // The last page with the job's ranks, after it is over.
  const std::optional<TopView>& last_view() const { return last_view_; }

 private:
  void add(const Host& host);
  void take(std::size_t host, const std::string& text);
  void lose(std::size_t host, const Error& error, std::optional<std::chrono::milliseconds> next);
  void follow_launchers(const Host& from, const HostFrame& frame);
  void answer_once();
  void end(int status);
  void draw();
  void print_line();
  void note_end_of_job();
  awaitable<void> keep_showing();
  awaitable<void> read_keys();
  awaitable<void> hear_signals();
  JobTime now() const;

  const LiveWish wish_;
  const StartOptions start_;
  const std::chrono::steady_clock::time_point began_;
  TopModel model_;
  TopScreen screen_;
  std::vector<Host> hosts_;  // by number
  std::set<std::string> names_;
  std::vector<Unreachable> unreachable_;  // by number; empty error: none
  bool ended_ = false;
  int status_ = 0;
  bool job_is_over_ = false;
  int looks_without_job_ = 0;
  std::optional<JobTime> first_look_;  // with kOnce
  std::optional<TopView> last_view_;
  // Before the context, whose destructor ends the tasks that use it.
  std::optional<WatchedHosts> watched_;
  asio::io_context context_;
};

// Of the wall clock here: "14:03:22".
std::string time_of_day();

}  // namespace dtl
