#pragma once
// checksums.txt of a checkpoint: the number of other files, then a line "CRC-32C SIZE NAME" for
// each. Checkpoints of older versions lack it. Only rank 0 uses this.

#include <optional>
#include <string>

namespace dtl::trainer {

bool has_checksums(const std::string& folder);

// Throws Error(kCannotWrite) naming the file.
void write_checksums(const std::string& folder);

// The first difference from what was written: "model.safetensors: its checksum is 0badcafe and was
// 1badcafe". Nothing for a checkpoint without checksums. Ignores added files.
std::optional<std::string> find_damage(const std::string& folder);

}  // namespace dtl::trainer
