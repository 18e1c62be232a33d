#pragma once
// The nine tasks of GLUE, from the TSV files of its archive or from files with the columns of
// Hugging Face's `glue` data set: columns, labels in the order of that data set, and the name under
// which metrics.h knows what to measure.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/data/dataset.h"

namespace dtl::trainer {

struct GlueTask {
  std::string name;                 // as in --task_name: "mrpc"
  std::vector<std::string> labels;  // id2label; one name, LABEL_0, for the regression of stsb
  Problem problem = Problem::kSingleLabel;
  std::string first, second;  // text columns; second is empty for single texts
  std::string label;          // the label's column
  // In Hugging Face's data set, where the label is always called "label".
  std::string hub_first, hub_second;
};

// All nine, by name.
std::span<const GlueTask> glue_tasks();
// Throws Error(kUsage) with the nearest name.
const GlueTask& glue_task(std::string_view name);

enum class Split { kTrain, kValidation, kTest };

struct GlueFile {
  std::string path;
  std::string suffix;  // of what is written about it: "" or "-mm" (the mismatched half of mnli)
  bool operator==(const GlueFile&) const = default;
};
// train.tsv; dev.tsv; test.tsv; mnli has dev_matched.tsv and dev_mismatched.tsv (test alike).
// `folder` holds the task's files. Nothing is opened.
std::vector<GlueFile> glue_files(const GlueTask& task, const std::string& folder, Split split);
// The same; Error(kBadInput) says which files were expected where, unless all of them exist. Where
// mrpc has neither train.tsv nor dev.tsv, these are the files that Microsoft published, whose test
// file then serves for validation, and also replaces test.tsv.
std::vector<GlueFile> find_glue_files(const GlueTask& task, const std::string& folder, Split split);

// Labels are given as the task's names, whether the file has names or 0, 1. A test file has none.
// Rows of qqp that end early are dropped and counted, as the `glue` data set does; elsewhere they
// are an Error(kBadInput) with file:line. limit < 0: all rows. Columns are found by the archive's
// names or, where the file lacks one of these, by the data set's.
TextDataset read_glue(const GlueTask& task, const GlueFile& file, Split split, std::int64_t limit);

}  // namespace dtl::trainer
