#pragma once
// What the waiting line promises, checked against what is true in a line_world.h. It does not use
// the rule itself.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/sim/line_jobs.h"

namespace dtl::sim {

class LinePromises {
 public:
  // Borrows all of them.
  LinePromises(const std::vector<LineNode>& nodes, const std::vector<LineJob>& jobs,
               const LineTime& now, std::function<void(LineTime, std::function<void()>)> after);

  // Claims or tickets of the node have changed, or the state of a job with tickets there.
  void changed(std::size_t node);
  void ticket_taken(std::size_t job, std::size_t node, bool is_first_host);
  void claimed(const LineClaim& claim, std::size_t node);
  void released(const LineClaim& claim);
  void lost_race(std::size_t job);
  // It runs now, or is done, or stopped.
  void left_line(std::size_t job);
  void world_ended();
  // Whether there is enough on its hosts for all jobs before it, too.
  bool fits_beside(std::size_t job) const;

  const std::string& complaints() const { return complaints_; }
  std::size_t deadlines() const { return deadlines_; }

 private:
  struct Core {  // from when on it is free, as far as jobs that had it then are concerned
    LineTime free{0};
    std::size_t claim = SIZE_MAX;  // or when this one ends
  };
  using Snapshot = std::vector<std::vector<Core>>;  // of each host, the cores that count

  struct Watch {  // of a job in line
    bool first = false, fits = false, plans_snapshot = false;
    int first_token = 0, fits_token = 0;
    std::vector<Snapshot> snapshots;
  };

  void complain(std::size_t job, const std::string& what);
  void check_order(std::size_t job, std::size_t other, std::size_t node);
  void watch(std::size_t job);
  bool has_all_tickets(std::size_t job) const;
  bool is_first(std::size_t job) const;
  bool fits_on(std::size_t job, std::size_t node) const;
  void plan_snapshot(std::size_t job);
  void take_snapshot(std::size_t job);
  LineTime deadline(std::size_t job, const Snapshot& snapshot) const;

  const std::vector<LineNode>& nodes_;
  const std::vector<LineJob>& jobs_;
  const LineTime& now_;
  const std::function<void(LineTime, std::function<void()>)> after_;
  std::vector<Watch> watches_;
  std::map<std::size_t, LineTime> ends_;  // of claims
  std::size_t deadlines_ = 0;
  std::string complaints_;
};

}  // namespace dtl::sim
