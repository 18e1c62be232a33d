// encode_lines FOLDER: reads JSON lines and prints one for each:
//   {"first": text, "second": text or null, "max": n}  ->  {"ids": [..], "types": [..]}
//   {"words": [text, ..], "max": n}  ->  {"ids": [..], "words": [..], "cut": n}
//   {"spans": text}  ->  {"ids": [..], "offsets": [[begin, end], ..]}
//   {"question": text, "context": text, "max": n, "stride": n}  ->  {"windows": [{"ids", "types",
//     "offsets"}, ..]}, or {"error": text} when the question leaves no room
// encode_lines FOLDER save OTHER writes the tokenizer of FOLDER to OTHER. encode_lines FOLDER time
// FILE encodes the lines of a file and prints {"seconds": s, "tokens": n, "load": s}. For
// comparisons with other implementations.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "tests/trainer/token_spans.h"
#include "trainer/tokens/tokenizer.h"

namespace dtl::trainer {
namespace {

using Json = nlohmann::json;

Json offsets_json(const std::vector<Offset>& offsets) {
  Json list = Json::array();
  for (const Offset& offset : offsets) list.push_back({offset.begin, offset.end});
  return list;
}

Json types_json(const std::vector<std::int8_t>& types) {
  Json list = Json::array();
  for (const std::int8_t type : types) list.push_back(int{type});
  return list;
}

Json windows_json(const Tokenizer& tokenizer, const Json& request) {
  Json windows = Json::array();
  try {
    for (const Window& window : tokenizer.encode_question(
             request["question"].get<std::string>(), request["context"].get<std::string>(),
             request["max"].get<int>(), request["stride"].get<int>())) {
      windows.push_back({{"ids", window.ids},
                         {"types", types_json(window.types)},
                         {"offsets", offsets_json(window.offsets)}});
    }
  } catch (const Error& error) {
    return {{"error", error.what()}};
  }
  return {{"windows", windows}};
}

Json answer(const Tokenizer& tokenizer, const Json& request) {
  if (request.contains("question")) return windows_json(tokenizer, request);
  if (request.contains("words")) {
    const WordEncoding encoding = tokenizer.encode_words(
        request["words"].get<std::vector<std::string>>(), request["max"].get<int>());
    return {{"ids", encoding.ids}, {"words", encoding.words}, {"cut", encoding.words_cut}};
  }
  if (request.contains("spans")) {
    const TokenSpans spans = token_spans(tokenizer, request["spans"].get<std::string>());
    return {{"ids", spans.ids}, {"offsets", offsets_json(spans.offsets)}};
  }
  const std::string first = request.at("first").get<std::string>();
  const int max = request.at("max").get<int>();
  const Encoding encoding =
      request.at("second").is_null()
          ? tokenizer.encode(first, max)
          : tokenizer.encode_pair(first, request.at("second").get<std::string>(), max);
  return {{"ids", encoding.ids}, {"types", types_json(encoding.types)}};
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

Json time_lines(const Tokenizer& tokenizer, const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  const auto begin = std::chrono::steady_clock::now();
  std::size_t tokens = 0;
  for (const std::string& line : lines) tokens += tokenizer.encode(line, INT32_MAX).ids.size();
  return {{"seconds", seconds_since(begin)}, {"tokens", tokens}};
}

}  // namespace
}  // namespace dtl::trainer

int main(int argc, char** argv) {
  if (argc < 2) return 64;
  try {
    const auto begin = std::chrono::steady_clock::now();
    const auto tokenizer = dtl::trainer::Tokenizer::load(argv[1]);
    if (argc == 4 && std::string_view(argv[2]) == "time") {
      const double loading = dtl::trainer::seconds_since(begin);
      auto times = dtl::trainer::time_lines(tokenizer, argv[3]);
      times["load"] = loading;
      std::cout << times.dump() << '\n';
      return 0;
    }
    if (argc == 4) {
      tokenizer.save(argv[3]);
      return 0;
    }
    for (std::string line; std::getline(std::cin, line);) {
      std::cout << dtl::trainer::answer(tokenizer, nlohmann::json::parse(line)).dump() << '\n';
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "encode_lines: %s\n", error.what());
    return 65;
  }
}
