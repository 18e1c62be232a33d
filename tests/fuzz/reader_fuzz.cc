// The libFuzzer program: each reader of untrusted bytes is a target. libfuzzer.sh, in this folder,
// runs it.
//   reader_fuzz --list                             the targets
//   reader_fuzz --reader=NAME --corpus=FOLDER      writes FOLDER/NAME/* and FOLDER/NAME.dict; fails
//                                                  where the reader refuses one of its good inputs,
//                                                  or breaks at a deeply nested one
//   reader_fuzz --reader=NAME [libFuzzer's options] [folders or files]
// It fails on a crash, a leak, undefined behaviour, an exception other than dtl::Error, an error
// without a place, or an accepted input that breaks the reader's promise.

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/json_inputs.h"
#include "tests/fuzz/reader.h"

namespace dtl::fuzz {
namespace {

enum class Outcome { kAccepted, kRefused, kBroken };

Outcome try_input(const Reader& reader, const std::string& bytes) {
  try {
    reader.read(bytes);
    return Outcome::kAccepted;
  } catch (const Error& error) {
    if (reader.says_where(error)) return Outcome::kRefused;
    fmt::print(stderr, "{}: the error does not say where: {}\n", reader.name, error.what());
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", reader.name, error.what());
  }
  return Outcome::kBroken;
}

std::vector<Reader> all_readers(const Folder& folder) {
  std::vector<Reader> all;
  for (auto&& some :
       {model_readers(folder), data_readers(folder), run_readers(folder), program_readers(folder),
        push_readers(folder), text_readers(), link_readers()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

// In libFuzzer's format: "\x00\xff".
std::string dictionary_line(const std::string& word) {
  std::string line = "\"";
  for (const char c : word) line += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  return line + "\"\n";
}

void write(const std::string& path, const std::string& bytes) {
  if (!(std::ofstream(path, std::ios::binary) << bytes)) {
    fmt::print(stderr, "{}: cannot write\n", path);
    std::exit(1);
  }
}

int write_corpus(const Reader& reader, const std::string& to) {
  std::filesystem::create_directories(to + "/" + reader.name);
  std::string dictionary;
  for (const std::string& word : reader.words) dictionary += dictionary_line(word);
  write(fmt::format("{}/{}.dict", to, reader.name), dictionary);
  for (std::size_t i = 0; i < reader.seeds.size(); ++i) {
    if (try_input(reader, reader.seeds[i]) != Outcome::kAccepted) {
      fmt::print(stderr, "{}: its good input {} is refused\n", reader.name, i);
      return 1;
    }
    write(fmt::format("{}/{}/seed-{}", to, reader.name, i), reader.seeds[i]);
    for (const std::string& input : nested_inputs(reader.seeds[i])) {
      write(fmt::format("{}/{}.nested", to, reader.name),
            input);  // for debugging, if it ends the program
      if (try_input(reader, input) == Outcome::kBroken) return 1;
    }
  }
  return 0;
}

// Removes "--NAME=VALUE" from the arguments and returns VALUE; libFuzzer's own options begin with
// one dash.
std::optional<std::string> take(const char* name, int& count, char** arguments) {
  const std::string prefix = fmt::format("--{}=", name);
  char** end = arguments + count;
  char** found = std::find_if(arguments, end, [&](const char* argument) {
    return std::string_view(argument).starts_with(prefix);
  });
  if (found == end) return std::nullopt;
  const std::string value = std::string(*found).substr(prefix.size());
  std::copy(found + 1, end + 1, found);  // including the null pointer at the end
  --count;
  return value;
}

// Set once, before the first input.
const Reader* reader_at_work = nullptr;

int initialise(int& count, char** arguments) {
  static const Folder folder;
  static const std::vector<Reader> readers = all_readers(folder);
  const auto name = take("reader", count, arguments);
  const auto corpus = take("corpus", count, arguments);
  if (count == 2 && std::string_view(arguments[1]) == "--list") {
    for (const Reader& reader : readers) fmt::print("{}\n", reader.name);
    std::exit(0);
  }
  for (const Reader& reader : readers) {
    if (name && reader.name == *name) reader_at_work = &reader;
  }
  if (reader_at_work == nullptr) {
    fmt::print(stderr, "reader_fuzz: no such reader. Try: reader_fuzz --list\n");
    std::exit(64);
  }
  if (corpus) std::exit(write_corpus(*reader_at_work, *corpus));
  return 0;
}

}  // namespace
}  // namespace dtl::fuzz

extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  return dtl::fuzz::initialise(*count, *arguments);
}

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

// Every fourth mutation keeps JSON valid.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  if (seed % 4 == 0) {
    const std::string bytes(reinterpret_cast<const char*>(data), size);
    const std::string other = dtl::fuzz::with_other_value(bytes, seed / 4);
    if (other != bytes && other.size() <= most)
      return other.copy(reinterpret_cast<char*>(data), most);
  }
  return LLVMFuzzerMutate(data, size, most);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dtl::fuzz;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  if (try_input(*reader_at_work, bytes) == Outcome::kBroken) std::abort();
  return 0;
}
