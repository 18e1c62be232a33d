#pragma once
// Rows of text fields from the three formats of data sets. The first row is the header. Not
// thread-safe; failures are Error(kBadInput) with file:line.

#include <memory>
#include <string>
#include <vector>

namespace dtl::trainer {

struct BlankLines {
  int count = 0, first = 0;  // first: the line of the first one, counted from 1
};

class RowReader {
 public:
  virtual ~RowReader() = default;
  // False at the end of the file.
  virtual bool next(std::vector<std::string>& fields) = 0;
  // The line on which the last row began, counted from 1.
  virtual int line() const = 0;
  // Its number in a JSON list, counted from 1; 0 where the file is none.
  virtual int element() const { return 0; }
  // Lines without a text that stood before a row so far, and were left out.
  virtual BlankLines blank_lines() const { return {}; }
};

// "d.tsv:3", or of an element of a list "d.json:7 (element 3)".
std::string row_place(const std::string& path, int line, int element);

// What to try with a row that has more or fewer fields than its header.
std::string fields_hint(const std::string& path);
// Throws Error(kBadInput) for a header that has a name twice: which column was meant is open.
void check_header(const std::string& path, int line, const std::vector<std::string>& header);

// By the ending of `path`: .tsv, .csv, .json or .jsonl; JSON is an object on each line, a list of
// objects, or an object whose "data" is such a list. A byte order mark is skipped; lines end in
// LF or CR LF, or in CR where a file has no LF; empty lines do not count; bytes that are not UTF-8,
// and NUL, are errors. A JSON list becomes a field with list_delimiter between its elements;
// without a delimiter it is an error.
std::unique_ptr<RowReader> make_row_reader(const std::string& path, std::string bytes,
                                           char list_delimiter = '\0');
// As a .tsv, whatever the name is.
std::unique_ptr<RowReader> make_tsv_reader(const std::string& path, std::string bytes);

}  // namespace dtl::trainer
