#pragma once
// What `dtlaunch forecast` prints: a table of at most 80 columns, what limits the speed and what
// would change it, or JSON. Pure.

#include <optional>
#include <string>
#include <vector>

#include "launcher/forecast/forecast_model.h"

namespace dtl {

// Another measured run, for example with another number of ranks per node.
struct ComparedStep {
  std::string folder;  // as typed
  MeasuredStep step;
};

struct ForecastQuestion {
  MeasuredStep step;
  std::string folder;  // of the measured step; empty: its figures were given by options
  LinkFigures links;
  std::string links_from;  // "measured between 4 hosts", "--link-gbit 25"
  std::vector<int> nodes;  // sorted, without 1
  std::vector<ComparedStep> others;
};

// The same run with one change, on the most nodes of the question.
struct WhatIf {
  std::string change;  // "bf16 gradients (--gradient_wire bf16)"
  ForecastRow row;
  std::string note;  // may be empty
};

enum class Limit { kComputing, kSlowest, kRate, kLatency };

struct ForecastAnswer {
  std::vector<ForecastRow> rows;  // for one node, then for each of the question's
  Limit limit = Limit::kComputing;
  std::string limit_text;
  std::vector<WhatIf> what_ifs;
  std::optional<double> measured_step_s;   // of a step measured on several nodes
  std::optional<ForecastRow> at_measured;  // the model for these nodes
  std::vector<std::string> unknown;        // what the measurement says nothing about
};

ForecastAnswer answer(const ForecastQuestion& question);

std::string forecast_text(const ForecastQuestion& question, const ForecastAnswer& answer);
// dtlaunch-forecast(1) describes it.
std::string forecast_json(const ForecastQuestion& question, const ForecastAnswer& answer);

}  // namespace dtl
