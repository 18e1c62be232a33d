#include "tests/fuzz/json_inputs.h"

#include <nlohmann/json.hpp>
#include <random>
#include <set>

namespace dtl::fuzz {
namespace {

using Json = nlohmann::ordered_json;
using Pointer = Json::json_pointer;

constexpr std::size_t kDepth = 100'000;  // would overflow a stack of 8 MiB ten times
constexpr const char* kMark = "\"the nested list\"";
constexpr const char* kSurprises[] = {"null",
                                      "true",
                                      "0",
                                      "-1",
                                      "1",
                                      "0.5",
                                      "1e300",
                                      "-1e300",
                                      "\"\"",
                                      "\"x\"",
                                      "[]",
                                      "{}",
                                      "[[]]",
                                      "[1]",
                                      "[-1]",
                                      "[\"x\"]",
                                      "16777216",
                                      "2147483648",
                                      "9223372036854775808",
                                      "18446744073709551615"};

// Pointers to all values in this one, including objects and lists.
std::vector<Pointer> places_in(const Json& json) {
  std::set<std::string> places;
  const Json leaves = json.flatten();
  for (const auto& [place, value] : leaves.items()) {
    for (Pointer at(place); !at.empty(); at.pop_back()) places.insert(at.to_string());
  }
  return {places.begin(), places.end()};
}

void remove(Json& json, const Pointer& place) {
  Json& parent = json[place.parent_pointer()];
  if (parent.is_object()) {
    parent.erase(place.back());
  } else {
    parent.erase(std::stoul(place.back()));
  }
}

}  // namespace

std::vector<std::string> nested_inputs(const std::string& seed) {
  const Json whole = Json::parse(seed, nullptr, /*allow_exceptions=*/false);
  if (!whole.is_structured()) return {};
  const std::string nested = std::string(kDepth, '[') + std::string(kDepth, ']');
  std::vector<std::string> inputs;
  for (const Pointer& place : places_in(whole)) {
    Json changed = whole;
    changed[place] = Json::parse(kMark);
    std::string text = changed.dump();
    text.replace(text.find(kMark), std::string(kMark).size(), nested);
    inputs.push_back(std::move(text));
  }
  return inputs;
}

std::string with_other_value(const std::string& text, std::uint32_t random) {
  std::minstd_rand numbers(random);
  const auto below = [&](std::size_t bound) { return numbers() % bound; };
  std::size_t begin = 0, size = text.size();
  if (!Json::accept(text)) {
    if (text.empty()) return text;
    const std::size_t end = text.rfind('\n', below(text.size()));
    begin = end == text.npos ? 0 : end + 1;
    size = std::min(text.find('\n', begin), text.size()) - begin;
  }
  Json json = Json::parse(text.substr(begin, size), nullptr, /*allow_exceptions=*/false);
  if (!json.is_structured() || json.empty()) return text;
  const std::vector<Pointer> places = places_in(json);
  const Pointer& place = places[below(places.size())];
  switch (below(4)) {
    case 0:
      remove(json, place);
      break;
    case 1: {
      const Json other = json[places[below(places.size())]];
      json[place] = other;
      break;
    }
    default:
      json[place] = Json::parse(kSurprises[below(std::size(kSurprises))]);
  }
  return text.substr(0, begin) + json.dump() + text.substr(begin + size);
}

}  // namespace dtl::fuzz
