#pragma once
// The members of a zip archive that stores them uncompressed, as torch.save makes it. Reads the
// central directory (APPNOTE.TXT 4.3.12 to 4.3.16, with zip64) and checks every place against the
// file. Checksums are not checked.

#include <cstdint>
#include <map>
#include <string>

#include "trainer/files/tensor_input.h"

namespace dtl::trainer {

struct ZipMember {
  std::uint64_t begin = 0, bytes = 0;  // of the contents, in the file
};

// Throws Error(kBadInput) naming the file.
std::map<std::string, ZipMember> read_zip_members(const TensorInput& file);

}  // namespace dtl::trainer
