#pragma once
// HalvingPlan: a sum by recursive halving, and its mirror image, a gather by recursive doubling
// (R. Rabenseifner, "Optimization of collective reduction operations", ICCS 2004), for any number
// of members. Each talks to about log2(n) others and moves (n-1)/n of the data once each way. Used
// while the schedule is made; shares have one span each.

#include <cstddef>
#include <vector>

#include "ring/operation/group_plan.h"

namespace dtl::ring {

class HalvingPlan {
 public:
  HalvingPlan(const Group& group, std::size_t me, FlowPlan& flows);

  // This member gets its own share summed in buffers.out. partial: the place for the sums of the
  // shares that it passes on, as if it held the whole buffer; it may be buffers.out. Sets when the
  // own share is ready.
  void reduce(const GroupPlan::Buffers& buffers, std::byte* partial, std::vector<Share>& shares);
  // Each member sends its share of buffers.out to all. Sets when the others are ready.
  void gather(const GroupPlan::Buffers& buffers, std::vector<Share>& shares);
  // All shares reach the root's `out`. Others need place for the shares that they have summed.
  void gather_to(std::size_t root, std::byte* out, std::vector<Share>& shares);

  // The shares of which this member makes sums at some time, its own included.
  Range summed() const;
  // Ranges of shares, in the order in which reduce() reads them, and gather() makes them ready.
  std::vector<Range> needs() const;
  std::vector<Range> results() const;

 private:
  // The members of a range split into two halves. This one keeps `mine`, and gives its operands of
  // `theirs` to a member of the other half.
  struct Level {
    Range mine, theirs;
    std::size_t gives_to = 0;
    std::vector<std::size_t> takes_from;  // none, one or two
  };
  static std::vector<Level> levels_of(std::size_t me, std::size_t members);
  static std::size_t partner_of(std::size_t member, const Level& level);

  const Group& group_;
  const std::size_t me_;
  FlowPlan& flows_;
  const std::vector<Level> levels_;  // from all members to pairs
};

}  // namespace dtl::ring
