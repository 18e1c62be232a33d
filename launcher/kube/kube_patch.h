#pragma once
// KubePatch: a user's change to one rendered object, as a JSON merge patch (RFC 7396): its fields
// replace those of the object, null removes a field, and lists are replaced whole.

#include <string>
#include <vector>

namespace dtl {

struct KubePatch {
  std::string file;
  int number = 0;    // in a list of patches, from 1; 0: the file's only patch
  std::string json;  // an object
};

// Reads patches from a JSON file: an object, or a list of objects. Throws Error(kBadInput), or the
// system's error if the file cannot be read.
std::vector<KubePatch> load_patches(const std::string& file);

// Applies each patch to the object with its kind, apiVersion, metadata.name and metadata.namespace,
// as far as it has these; without a kind to the object of `main_kind`. objects: their JSON. Throws
// Error(kBadInput) for a patch that matches no object or changes nothing.
void apply_patches(const std::vector<KubePatch>& patches, const std::string& main_kind,
                   std::vector<std::string>& objects);

}  // namespace dtl
