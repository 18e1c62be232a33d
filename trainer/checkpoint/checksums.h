#pragma once
// checksums.txt of a checkpoint: for each of its other files a line "CRC-32C SIZE NAME", and before
// them how many there are. Checkpoints of older versions have none. Rank 0's business.

#include <optional>
#include <string>

namespace dtl::trainer {

bool has_checksums(const std::string& folder);

// Throws Error(kCannotWrite) naming the file.
void write_checksums(const std::string& folder);

// What is not as it was written: "model.safetensors: its checksum is 0badcafe and was 1badcafe".
// Nothing for a checkpoint without checksums, and for files that have been added.
std::optional<std::string> find_damage(const std::string& folder);

}  // namespace dtl::trainer
