#pragma once
// Reader: one reader of foreign bytes as the fuzzer sees it: good inputs to begin with, words that
// mean something to it, and a call that checks what the reader promises. Each *_readers.cc makes
// those of one part of the program; reader_fuzz.cc and text_fuzz.cc try them.

#include <functional>
#include <string>
#include <vector>

#include "base/error.h"

namespace dtl::fuzz {

struct Reader {
  std::string name;                // of its corpus: "tokenizer.json"
  std::vector<std::string> seeds;  // inputs that it accepts
  std::vector<std::string> words;  // for libFuzzer's dictionary
  // Reads the bytes and uses what came of them. Throws dtl::Error for what it refuses; any other
  // exception is a broken promise.
  std::function<void(const std::string& bytes)> read;
  // Whether the error tells the user where the trouble is.
  std::function<bool(const Error& error)> says_where;
};

// A folder of this process, in TMPDIR; removed at the end.
class Folder {
 public:
  Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder();

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }
  std::string write(const std::string& name, const std::string& bytes) const;  // its path

 private:
  std::string path_;
};

// Throws std::runtime_error: the reader let something through that it should not have.
void require(bool holds, const char* promise);

// For says_where: the message starts with this file or a file of this folder, and gives a reason.
std::function<bool(const Error&)> names(const std::string& path);

std::vector<Reader> model_readers(const Folder& folder);  // tensors, config.json
std::vector<Reader> data_readers(const Folder& folder);   // tokenizers, data sets, questions
std::vector<Reader> run_readers(const Folder& folder);    // files of options, saved states
std::vector<Reader> text_readers();                       // hostfiles, job files, pins
std::vector<Reader> link_readers();                       // what comes through sockets

}  // namespace dtl::fuzz
