#pragma once
// Backward beside central differences, in double.

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/trainer/model_support.h"
#include "trainer/model/model.h"

namespace dtl::trainer {

template <class S>
struct Result {
  std::vector<S> outputs;
  double loss = 0;
  std::vector<S> gradients;
};

template <class S>
Result<S> run_model(Model<S>& model, const std::vector<S>& parameters, const Batch& batch,
                    const DropoutKey* dropout, S weight = S(1)) {
  Result<S> result;
  const S* outputs = model.forward(parameters.data(), batch, dropout);
  const std::int64_t rows = output_rows(model.config(), batch);
  result.outputs.assign(outputs, outputs + rows * output_count(model.config()));
  result.gradients.resize(parameters.size());
  result.loss =
      model.backward(parameters.data(), batch, weight, result.gradients.data(), [](std::size_t) {});
  return result;
}

// The largest difference between backward and central differences, relative to 1 + the gradient,
// over up to 12 elements of every tensor. The word embedding of padding has no gradient by
// definition, so it is left out.
inline void expect_gradients_right(Model<double>& model, const Batch& batch,
                                   const DropoutKey* dropout) {
  std::vector<double> parameters = random_parameters<double>(model.layout(), 5);
  const Result<double> result = run_model(model, parameters, batch, dropout);
  const std::int64_t pad_row = model.layout().word + std::int64_t{model.config().pad_token_id} *
                                                         embedding_width(model.config());
  std::mt19937 random(1);
  for (const ParameterInfo& tensor : model.layout().tensors) {
    for (int probe = 0; probe < 12; ++probe) {
      const auto i = static_cast<std::size_t>(
          tensor.offset +
          static_cast<std::int64_t>(random() % static_cast<unsigned>(tensor.count)));
      const auto in_pad_row = static_cast<std::int64_t>(i) - pad_row;
      if (in_pad_row >= 0 && in_pad_row < embedding_width(model.config())) continue;
      const double before = parameters[i], h = 1e-5;
      parameters[i] = before + h;
      const double up = run_model(model, parameters, batch, dropout).loss;
      parameters[i] = before - h;
      const double down = run_model(model, parameters, batch, dropout).loss;
      parameters[i] = before;
      const double expected = (up - down) / (2 * h);
      EXPECT_NEAR(result.gradients[i], expected, 1e-6 * (1 + std::abs(expected)))
          << tensor.name << " element " << static_cast<std::int64_t>(i) - tensor.offset;
    }
  }
}

}  // namespace dtl::trainer
