#pragma once
// A machine for pickles that can run nothing: plain values, tuples, lists, dictionaries, and of all
// callables only those of a state dict (collections.OrderedDict, torch._utils._rebuild_tensor_v2
// and _rebuild_parameter, the classes of storages), of which it makes descriptions. The opcodes are
// those of protocol 2 to 4 as pickletools documents them. A pickle of n bytes makes at most n
// values.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/files/tensor_input.h"

namespace dtl::trainer {

class Pickle {
 public:
  using Ref = std::uint32_t;  // a value's place in this pickle
  enum class Kind {
    kNone,
    kBool,     // number
    kInteger,  // number
    kReal,     // its value is not kept
    kBytes,    // text; integers of more than 64 bits, too, little-endian
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

  // Runs the pickle in `bytes` that begins at `at`, and leaves `at` behind it. Throws
  // Error(kBadInput) naming `file`; for a name that is not allowed: "refuses to run 'os.system'".
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
