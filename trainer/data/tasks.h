#pragma once
// GLUE's nine tasks, from the archive's TSV files or from files with the columns of Hugging Face's
// `glue` data set: columns, labels in that data set's order, and the task's name for metrics.h.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/data/dataset.h"

namespace dtl::trainer {

struct GlueTask {
  std::string name;                 // as in --task_name: "mrpc"
  std::vector<std::string> labels;  // id2label; stsb, a regression, has one: LABEL_0
  Problem problem = Problem::kSingleLabel;
  std::string first, second;  // text columns; second is empty without pairs
  std::string label;          // label column
  // In Hugging Face's data set. Its label column is always "label".
  std::string hub_first, hub_second;
};

// All nine, by name.
std::span<const GlueTask> glue_tasks();
// Throws Error(kUsage) with the nearest name.
const GlueTask& glue_task(std::string_view name);

enum class Split { kTrain, kValidation, kTest };

struct GlueFile {
  std::string path;
  std::string suffix;  // for output names: "" or "-mm" (mnli's mismatched half)
  bool operator==(const GlueFile&) const = default;
};
// train.tsv; dev.tsv; test.tsv; for mnli dev_matched.tsv and dev_mismatched.tsv (test likewise).
// `folder` holds the task's files. Opens no file.
std::vector<GlueFile> glue_files(const GlueTask& task, const std::string& folder, Split split);
// As glue_files(), but throws Error(kBadInput) listing the expected files unless all exist. If mrpc
// has neither train.tsv nor dev.tsv, returns Microsoft's published files. Their test file then
// serves as validation set, and also replaces a missing test.tsv.
std::vector<GlueFile> find_glue_files(const GlueTask& task, const std::string& folder, Split split);

// Returns labels as the task's names, whether the file has names or 0, 1. Test files have none.
// Drops and counts rows of qqp that end early, as the `glue` data set does; in other tasks they are
// an Error(kBadInput) with file:line. limit < 0: all rows. Finds columns by the archive's names or,
// if one is missing, by the data set's.
TextDataset read_glue(const GlueTask& task, const GlueFile& file, Split split, std::int64_t limit);

}  // namespace dtl::trainer
