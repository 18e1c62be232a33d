#pragma once
// Backward beside central differences, in double.

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

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

// The change of the loss along `direction` from element `first` on, by central differences.
inline double change_along(Model<double>& model, const std::vector<double>& parameters,
                           std::size_t first, const std::vector<double>& direction,
                           const Batch& batch, const DropoutKey* dropout) {
  // the same length for any number of elements, so that the differences are as exact
  const double h = 1e-5 / std::sqrt(static_cast<double>(direction.size()));
  const auto loss_at = [&](double step) {
    std::vector<double> moved = parameters;
    for (std::size_t i = 0; i < direction.size(); ++i) moved[first + i] += step * direction[i];
    return run_model(model, moved, batch, dropout).loss;
  };
  return (loss_at(h) - loss_at(-h)) / (2 * h);
}

// Whether the parameter belongs to an embedding of padding, of its word or its position. These have
// no gradient by definition: nn.Embedding(padding_idx=...).
inline bool of_padding(const Model<double>& model, std::int64_t parameter) {
  const ParameterLayout& layout = model.layout();
  const int first = first_position(model.config());
  const auto in_row = [&](std::int64_t table, std::int64_t row, std::int64_t width) {
    const std::int64_t place = parameter - table - row * width;
    return place >= 0 && place < width;
  };
  const std::int64_t width = embedding_width(model.config());
  return in_row(layout.word, model.config().pad_token_id, width) ||
         (first > 0 && layout.position >= 0 && in_row(layout.position, first - 1, width));
}

// Compares backward with central differences, relative to 1 + the gradient, in every tensor: along
// a random direction of +1 and -1, in which a single wrong element shows, and for two elements by
// themselves.
inline void expect_gradients_right(Model<double>& model, const Batch& batch,
                                   const DropoutKey* dropout) {
  const std::vector<double> parameters = random_parameters<double>(model.layout(), 5);
  const Result<double> result = run_model(model, parameters, batch, dropout);
  std::mt19937 random(1);
  for (const ParameterInfo& tensor : model.layout().tensors) {
    const auto first = static_cast<std::size_t>(tensor.offset);
    const auto expect = [&](const std::vector<double>& direction, std::size_t from,
                            const std::string& what) {
      const double expected = change_along(model, parameters, from, direction, batch, dropout);
      double found = 0;
      for (std::size_t i = 0; i < direction.size(); ++i) {
        found += direction[i] * result.gradients[from + i];
      }
      EXPECT_NEAR(found, expected, 1e-6 * (1 + std::abs(expected))) << tensor.name << what;
    };
    std::vector<double> direction(static_cast<std::size_t>(tensor.count));
    for (std::size_t i = 0; i < direction.size(); ++i) {
      const double step = random() % 2 == 0 ? 1 : -1;
      direction[i] = of_padding(model, static_cast<std::int64_t>(first + i)) ? 0 : step;
    }
    expect(direction, first, " as a whole");
    for (int probe = 0; probe < 2; ++probe) {
      const std::size_t i = random() % direction.size();
      if (direction[i] != 0) expect({1}, first + i, " element " + std::to_string(i));
    }
  }
}

}  // namespace dtl::trainer
