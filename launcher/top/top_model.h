#pragma once
// TopModel: makes the view of `dtlaunch top` from the frames of all hosts. It has the last frame of
// each host and what its rates need; RankWatch (launcher/job) decides who keeps others waiting.
// Pure: the time comes from outside.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/job_time.h"
#include "launcher/job/rank_watch.h"
#include "launcher/top/host_frame.h"
#include "launcher/top/top_view.h"

namespace dtl {

class TopModel {
 public:
  // job: only this one; empty: all.
  explicit TopModel(std::string job = {}) : job_(std::move(job)) {}

  std::size_t add_host(std::string name);  // returns its number; 0, 1 ...
  void take(std::size_t host, HostFrame frame, JobTime now);
  // next_try: as top_view.h; its last frame is shown no longer, but for the places of its ranks.
  void lose(std::size_t host, std::string reason, std::optional<JobTime> next_try);
  // Nobody could run until now, as after ^Z: all waits begin anew.
  void excuse(JobTime now);
  // Looks at who waits. Call it about once per period, before view().
  void look(JobTime now);

  TopView view(JobTime now) const;

  // Whether every host that is not lost has sent so many frames, the last one after `since`.
  bool has_heard(int frames, JobTime since) const;
  bool is_watching() const;  // at least one host
  // Whether a watched host has a launcher or an agent of any job in its last frame.
  bool has_jobs() const;

 private:
  using RankKey = std::tuple<std::string, int, std::uint32_t>;  // job, rank, pid if that is unknown
  struct Wait {
    std::uint64_t completed = 0;
    std::int64_t since_ms = 0;  // of the host's clock
  };
  // What a rank did in its last two frames.
  struct Past {
    std::int64_t at_ms = 0;
    RankUsage usage;
    std::uint64_t sent = 0, ring = 0;
    bool has_ring = false;
    std::optional<double> cpu_percent, sent_per_s, ring_per_s;
    std::map<std::pair<std::uint64_t, int>, Wait> waits;  // by communicator
  };
  struct HostSeen {
    std::string name;
    TopHostState state = TopHostState::kConnecting;
    std::string reason;
    std::optional<JobTime> next_try;
    int frames = 0;  // since it was connected
    JobTime heard{0};
    HostFrame frame;
    std::map<RankKey, Past> past;
  };
  // A moment when the job's step was seen to change.
  struct StepSeen {
    JobTime at{0};
    std::uint64_t step = 0, tokens = 0;
  };
  struct JobSeen {
    RankWatch watch;
    std::map<int, std::size_t> places;  // the host of each rank
    std::deque<StepSeen> steps;
    std::map<int, std::uint64_t> own_steps;    // by rank, in its last frame
    std::set<int> still;                       // ranks that made no step since the frame before
    std::optional<TrainingProgress> progress;  // of the rank that is furthest
  };

  static RankKey key_of(const FrameRank& rank);
  static Past past_of(const FrameRank& rank, std::int64_t at_ms, const Past* before);
  void note_ranks(std::size_t host, const HostFrame& frame, JobTime now);
  static void note_progress(JobSeen& job, const FrameRank& rank, JobTime now);
  void add_ranks(const HostSeen& host, std::map<std::string, TopJob>& jobs) const;
  void finish(TopJob& job) const;
  static TopTraining training_of(const JobSeen& job);
  std::vector<TopOwner> owners() const;

  std::string job_;
  std::vector<HostSeen> hosts_;
  std::map<std::string, JobSeen> jobs_;
};

}  // namespace dtl
