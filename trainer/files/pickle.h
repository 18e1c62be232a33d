#pragma once
// A pickle interpreter that cannot run code. It reads plain values, tuples, lists and dictionaries.
// Of all callables it accepts only those of a state dict (collections.OrderedDict,
// torch._utils._rebuild_tensor_v2 and _rebuild_parameter, the storage classes) and describes them.
// Opcodes are those of protocols 2 to 4, as in pickletools. A pickle of n bytes makes at most n
// values.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/files/tensor_input.h"

namespace dtl::trainer {

class Pickle {
 public:
  using Ref = std::uint32_t;  // index of a value in this pickle
  enum class Kind {
    kNone,
    kBool,     // number
    kInteger,  // number
    kReal,     // the value is not kept
    kBytes,    // text; also integers of more than 64 bits, little-endian
    kText,     // text, UTF-8
    kTuple,    // items
    kList,     // items
    kDict,     // items: key, value, key, value, ..
    kName,     // text: "torch.FloatStorage"
    kStorage,  // items: "storage", class, key, device, number of elements, ..
    kTensor,   // items: storage, offset, sizes, strides
  };
  struct Value {
    Kind kind = Kind::kNone;
    std::int64_t number = 0;
    std::string text = {};
    std::vector<Ref> items = {};
  };

  // Interprets the pickle that begins at `at` in `bytes`, and sets `at` to its end. Throws
  // Error(kBadInput) naming `file`. For a forbidden name it says: "refuses to run 'os.system'".
  Pickle(const TensorInput& file, std::string_view bytes, std::size_t& at);

  const Value& root() const { return values_[root_]; }
  const Value& operator[](Ref ref) const { return values_[ref]; }
  const std::vector<Ref>& storages() const { return storages_; }

 private:
  friend class PickleMachine;
  std::vector<Value> values_;
  std::vector<Ref> storages_;
  Ref root_ = 0;
};

}  // namespace dtl::trainer
