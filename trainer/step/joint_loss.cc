// Gathers outputs rank by rank and computes the loss in the step's order, so that its sums do not
// depend on who computed a row.
#include "trainer/step/joint_loss.h"

#include <algorithm>
#include <unordered_map>

#include "trainer/families/task_head.h"

namespace dtl::trainer {
namespace {

constexpr std::uint64_t kOutputsTag = 0xFFFF0003;

// The places in `chosen` of this rank's examples.
std::vector<std::size_t> places_of(const StepShare& share, std::size_t rank) {
  std::unordered_map<std::int64_t, std::size_t> place;
  for (std::size_t i = 0; i < share.chosen.size(); ++i) place[share.chosen[i]] = i;
  std::vector<std::size_t> places;
  for (const std::int64_t example : share.of_rank[rank]) places.push_back(place.at(example));
  return places;
}

// The outputs of all ranks, in the order of `chosen`; `floats` belong to an example.
std::vector<float> gather_outputs(const StepShare& share, Ranks& group, std::size_t floats,
                                  const std::vector<float>& own) {
  std::vector<std::uint64_t> counts;
  for (const auto& examples : share.of_rank) counts.push_back(examples.size() * floats);
  std::vector<float> by_rank(share.chosen.size() * floats), ordered(by_rank.size());
  group.wait(group.start_gather(own.data(), by_rank.data(), counts, kOutputsTag));
  auto from = by_rank.begin();
  for (std::size_t rank = 0; rank < share.of_rank.size(); ++rank) {
    for (const std::size_t place : places_of(share, rank)) {
      std::copy_n(from, floats, ordered.begin() + static_cast<std::ptrdiff_t>(place * floats));
      from += static_cast<std::ptrdiff_t>(floats);
    }
  }
  return ordered;
}

std::vector<float> targets_of(const StepShare& share) {
  std::vector<float> targets;
  if (share.examples.targets.empty()) return targets;
  for (const std::int64_t example : share.chosen) {
    targets.push_back(share.examples.targets[static_cast<std::size_t>(example)]);
  }
  return targets;
}

struct JointLoss {
  double loss;
  std::vector<float> doutputs;  // of this rank's share, in its order
};

JointLoss loss_of_all(const JointStep& step, const StepShare& share,
                      const std::vector<float>& own) {
  const std::int64_t columns = output_count(step.model.config()), texts = share.examples.texts;
  const auto floats = static_cast<std::size_t>(columns * texts);
  const std::vector<float> outputs = gather_outputs(share, step.group, floats, own);
  std::vector<float> gradient(outputs.size());
  const EmbeddingShape shape{std::ssize(share.chosen), texts, columns};
  JointLoss joint;
  joint.loss = embedding_loss<float>(step.model.loss().embedding, shape, outputs.data(),
                                     targets_of(share), 1.0F, gradient.data());
  for (const std::size_t place : places_of(share, static_cast<std::size_t>(share.rank))) {
    const auto row = gradient.begin() + static_cast<std::ptrdiff_t>(place * floats);
    joint.doutputs.insert(joint.doutputs.end(), row, row + static_cast<std::ptrdiff_t>(floats));
  }
  return joint;
}

// Floats of outputs before micro-batch m.
std::int64_t floats_before(const JointStep& step, const StepShare& share, int m) {
  const std::int64_t examples = m == 0 ? 0 : share.part(m).data() - share.mine().data();
  return examples * share.examples.texts * output_count(step.model.config());
}

}  // namespace

double run_joint_step(const JointStep& step, const StepShare& share, float* gradients,
                      const GradientsDone& done, StepWork& work) {
  const int last = share.micro_batches - 1;
  Model<float>& model = step.model;
  std::vector<float> own;
  Stopwatch watch;
  Batch batch;  // of the forward whose backward comes next
  for (int m = 0; m <= last; ++m) {
    batch = share.batch(m);
    const float* outputs = m < last ? model.forward_only(step.parameters, batch, &step.dropout)
                                    : model.forward(step.parameters, batch, &step.dropout);
    own.insert(own.end(), outputs, outputs + batch.sequences() * output_count(model.config()));
    // A forward is a third of a batch's products; all but the last one's come twice.
    work.flops += product_flops(model.config(), batch, model.frozen()) * (m < last ? 4.0 / 3 : 1);
  }
  work.forward_s += watch.lap();
  const JointLoss joint = loss_of_all(step, share, own);
  work.network_s += watch.lap();
  for (int i = 0; i <= last; ++i) {
    const int m = (last + i) % share.micro_batches;
    if (i > 0) {
      batch = share.batch(m);
      model.forward(step.parameters, batch, &step.dropout);
      work.forward_s += watch.lap();
    }
    model.backward_from(joint.doutputs.data() + floats_before(step, share, m), step.parameters,
                        batch, gradients, [&](std::int64_t offset) {
                          if (i == last) done(offset);
                        });
    work.backward_s += watch.lap();
  }
  return share.rank == 0 ? joint.loss : 0;
}

}  // namespace dtl::trainer
