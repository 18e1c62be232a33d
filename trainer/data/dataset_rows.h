#pragma once
// Reads rows of text fields from data sets in three formats. The first row is the header. Not
// thread-safe; errors are Error(kBadInput) with file:line.

#include <memory>
#include <string>
#include <vector>

namespace dtl::trainer {

struct BlankLines {
  int count = 0, first = 0;  // first: line of the first one, from 1
};

class RowReader {
 public:
  virtual ~RowReader() = default;
  // False at the end of the file.
  virtual bool next(std::vector<std::string>& fields) = 0;
  // The line where the last row began, from 1.
  virtual int line() const = 0;
  // The row's index in a JSON list, from 1; 0 if the file is not a list.
  virtual int element() const { return 0; }
  // Blank lines before rows that were skipped so far.
  virtual BlankLines blank_lines() const { return {}; }
};

// "d.tsv:3", or for a list element "d.json:7 (element 3)".
std::string row_place(const std::string& path, int line, int element);

// Why a row may have more or fewer fields than its header: the rule of this kind of file.
std::string fields_rule(const std::string& path);
// The command that shows a line: what to try about a row.
std::string show_line(const std::string& path, int line);
// The command that puts a line with these names of columns in front of a .csv or .tsv.
std::string add_names(const std::string& path, const std::vector<std::string>& names);
// Throws Error(kBadInput) for a header that has a name twice: which column was meant is open.
void check_header(const std::string& path, int line, const std::vector<std::string>& header);

// Selects the format by the ending of `path`: .tsv, .csv, .json or .jsonl; JSON is an object per
// line, a list of objects, or an object whose "data" is such a list. Skips a byte order mark. Lines
// end in LF or CR LF, or in CR if the file has no LF. Empty lines do not count. Bytes that are not
// UTF-8 and NUL are errors. Joins a JSON list into a field with list_delimiter; without a
// delimiter, a list is an error. lists_in_rows: see json_list.h.
std::unique_ptr<RowReader> make_row_reader(const std::string& path, std::string bytes,
                                           char list_delimiter = '\0', bool lists_in_rows = false);
// Each line with text is a row with one field. The file has no header.
std::unique_ptr<RowReader> make_line_reader(const std::string& path, std::string bytes);
// Reads .tsv format, whatever the name.
std::unique_ptr<RowReader> make_tsv_reader(const std::string& path, std::string bytes);

}  // namespace dtl::trainer
