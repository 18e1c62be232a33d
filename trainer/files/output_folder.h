#pragma once
// The folder that a program writes a model to. Rank 0's business.

#include <string>

namespace dtl::trainer {

// Creates a folder for output and its parents. Throws Error(kCannotWrite), also for one that holds
// files already, unless `overwrite`. The lock of the run that asks does not count as one.
void make_output_folder(const std::string& folder, bool overwrite);

}  // namespace dtl::trainer
