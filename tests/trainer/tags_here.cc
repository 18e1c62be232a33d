// tags_here: reads JSON lines and prints the metrics of entities for each, with those of each type:
//   {"labels": [name, ..], "truth": [[id, ..], ..], "predicted": the same shape}
// For comparison with seqeval.

#include <cstdio>
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "trainer/tasks/entities.h"

namespace dtl::trainer {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::int32_t> flat(const Json& sentences) {
  std::vector<std::int32_t> all;
  for (const Json& sentence : sentences) {
    for (const Json& tag : sentence) all.push_back(tag.get<std::int32_t>());
    all.push_back(kNoLabel);
  }
  return all;
}

Json metrics_of(const Json& request) {
  const EntityFinder finder(request.at("labels").get<std::vector<std::string>>());
  Json metrics = Json::object();
  for (const auto& [name, value] : entity_metrics(
           score_entities(finder, flat(request.at("truth")), flat(request.at("predicted"))),
           true)) {
    metrics[name] = value;
  }
  return metrics;
}

}  // namespace
}  // namespace dtl::trainer

int main() {
  try {
    for (std::string line; std::getline(std::cin, line);) {
      std::cout << dtl::trainer::metrics_of(nlohmann::ordered_json::parse(line)).dump() << '\n';
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tags_here: %s\n", error.what());
    return 65;
  }
}
