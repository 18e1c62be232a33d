#pragma once
// A step's forward and backward with a loss of all its examples together, such as those of
// embeddings. Every rank gathers the outputs of all ranks and computes the same loss; backward runs
// on its own rows. So the numbers of ranks and micro-batches change only the rounding of the loss
// and its gradient.
//
// Micro-batches cache gradients: all run forward first and keep only their outputs, except the last
// one, whose backward comes first. The others then run forward again, with the same dropout, just
// before their backward. So memory is that of one micro-batch. Collective; throws the ranks'
// errors.

#include "trainer/model/model.h"
#include "trainer/step/ranks.h"
#include "trainer/step/step_cost.h"
#include "trainer/step/step_share.h"

namespace dtl::trainer {

struct JointStep {
  Model<float>& model;
  Ranks& group;
  const float* parameters;
  const DropoutKey& dropout;
};

// Adds the gradients of this rank's share to `gradients` and its work to `work`. Calls done()
// during the backward that ends the step. Returns the loss on rank 0 and 0 elsewhere: its sum over
// the ranks is the loss.
double run_joint_step(const JointStep& step, const StepShare& share, float* gradients,
                      const GradientsDone& done, StepWork& work);

}  // namespace dtl::trainer
