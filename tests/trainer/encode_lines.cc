// encode_lines FOLDER: reads JSON lines {"first": text, "second": text or null, "max": n} and
// prints {"ids": [..], "types": [..]} for each. encode_lines FOLDER save OTHER writes the tokenizer
// of FOLDER to OTHER. For comparisons with other implementations.

#include <cstdio>
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "trainer/tokenizer.h"

int main(int argc, char** argv) {
  if (argc < 2) return 64;
  try {
    const dtl::trainer::Tokenizer tokenizer = dtl::trainer::Tokenizer::load(argv[1]);
    if (argc == 4) {
      tokenizer.save(argv[3]);
      return 0;
    }
    for (std::string line; std::getline(std::cin, line);) {
      const nlohmann::json request = nlohmann::json::parse(line);
      const std::string first = request.at("first").get<std::string>();
      const int max = request.at("max").get<int>();
      const dtl::trainer::Encoding encoding =
          request.at("second").is_null()
              ? tokenizer.encode(first, max)
              : tokenizer.encode_pair(first, request.at("second").get<std::string>(), max);
      nlohmann::json answer = {{"ids", encoding.ids}};
      for (const std::int8_t type : encoding.types) answer["types"].push_back(int{type});
      std::cout << answer.dump() << '\n';
    }
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "encode_lines: %s\n", error.what());
    return 65;
  }
}
