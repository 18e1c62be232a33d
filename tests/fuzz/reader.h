#pragma once
// Reader: one reader of untrusted bytes for the fuzzers: seeds, dictionary words, and a function
// that checks the reader's promises. Each *_readers.cc makes the readers of one part of the
// program; reader_fuzz.cc and text_fuzz.cc run them.

#include <functional>
#include <string>
#include <vector>

#include "base/error.h"

namespace dtl::fuzz {

struct Reader {
  std::string name;                // and of its corpus: "tokenizer.json"
  std::vector<std::string> seeds;  // inputs that it accepts
  std::vector<std::string> words;  // for libFuzzer's dictionary
  // Reads the bytes and uses the result. Throws dtl::Error for invalid input; any other exception
  // breaks a promise.
  std::function<void(const std::string& bytes)> read;
  // Whether the error tells the user the place of the fault.
  std::function<bool(const Error& error)> says_where;
};

// This process's folder in TMPDIR; removed at the end.
class Folder {
 public:
  Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder();

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  std::string write(const std::string& name, const std::string& bytes) const;  // returns the path

 private:
  std::string path_;
};

// Throws std::runtime_error if not `holds`: the reader accepted something wrong.
void require(bool holds, const char* promise);

// For says_where: the message starts with this path or a file in this folder, and has a reason.
std::function<bool(const Error&)> names(const std::string& path);

std::vector<Reader> model_readers(const Folder& folder);    // tensors, config.json
std::vector<Reader> data_readers(const Folder& folder);     // tokenizers, data sets, questions
std::vector<Reader> run_readers(const Folder& folder);      // option files, saved states
std::vector<Reader> program_readers(const Folder& folder);  // ELF files
std::vector<Reader> push_readers(const Folder& folder);     // programs from other hosts
std::vector<Reader> text_readers();                         // hostfiles, job files, pins
std::vector<Reader> link_readers();                         // data from sockets
std::vector<Reader> tree_readers();                         // data from agents of a tree
std::vector<Reader> pmix_readers();                         // data from dtpmix of other nodes

}  // namespace dtl::fuzz
