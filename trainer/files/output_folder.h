#pragma once
// The folder that a program writes a model to. Only rank 0 uses it.

#include <string>

namespace dtl::trainer {

// Creates the output folder and its parents. Throws Error(kCannotWrite); also if the folder holds
// files, unless `overwrite`. The calling run's lock file does not count.
void make_output_folder(const std::string& folder, bool overwrite);

// Throws Error(kCannotWrite) for a file of this name.
void refuse_file_as_folder(const std::string& folder);

}  // namespace dtl::trainer
