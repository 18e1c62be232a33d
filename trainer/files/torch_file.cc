// Turns a pickle's descriptions into values. Each description is checked against its storage, and
// each storage against the file, before anything is allocated.
#include "trainer/files/torch_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "trainer/files/pickle.h"
#include "trainer/files/stored_zip.h"
#include "trainer/files/tensor_input.h"

namespace dtl::trainer {
namespace {

using Kind = Pickle::Kind;

constexpr std::uint64_t kMaxPickleBytes = 16 << 20;  // 400 tensors take 100 KiB
// torch's own limit.
constexpr std::size_t kMaxDimensions = 64;
// Limits how often tensors may repeat the file's elements. Shared weights occur twice.
constexpr std::uint64_t kMaxSharing = 16;

struct StorageType {
  const char* name;
  ElementType type;
  std::uint64_t bytes;
};
constexpr ElementType kIntegerType = ElementType::kWhole;
constexpr StorageType kStorageTypes[] = {
    {"torch.FloatStorage", ElementType::kF32, 4},     {"torch.HalfStorage", ElementType::kF16, 2},
    {"torch.BFloat16Storage", ElementType::kBF16, 2}, {"torch.DoubleStorage", ElementType::kF64, 8},
    {"torch.LongStorage", kIntegerType, 8},           {"torch.IntStorage", kIntegerType, 4},
    {"torch.ShortStorage", kIntegerType, 2},          {"torch.CharStorage", kIntegerType, 1},
    {"torch.ByteStorage", kIntegerType, 1},           {"torch.BoolStorage", kIntegerType, 1}};

// The contents of storages, by key.
using Storages = std::map<std::string, ZipMember>;

struct Storage {
  std::string key;
  const StorageType* type;
  std::uint64_t count;  // elements
};

// A tensor within its storage, as the pickle describes it.
struct StridedTensor {
  Storage storage;
  std::uint64_t offset = 0;  // elements
  std::vector<std::int64_t> shape, strides;
  std::uint64_t count = 0;
  // Strides of 0 allow many elements with a small reach.
  std::uint64_t reach = 0;  // elements from the first to the last, both included
};

class TorchReader {
 public:
  TorchReader(const TensorInput& file, const Pickle& pickle, const Storages& storages)
      : file_(file), pickle_(pickle), storages_(storages) {}

  TensorMap read() {
    const Pickle::Value& root = pickle_.root();
    if (root.kind != Kind::kDict) file_.fail("it holds no dictionary of tensors");
    TensorMap tensors;
    for (std::size_t i = 0; i + 1 < root.items.size(); i += 2) {
      const Pickle::Value& key = pickle_[root.items[i]];
      const Pickle::Value& value = pickle_[root.items[i + 1]];
      if (key.kind != Kind::kText || value.kind != Kind::kTensor) continue;
      name_ = key.text;
      const StridedTensor tensor = describe(value);
      if (tensor.storage.type->type == kIntegerType) {
        // Integers are counters and position ids, whose values dttrain does not need. Keep only the
        // type's name.
        tensors[name_] = {tensor.shape, {}, tensor.storage.type->name};
      } else {
        tensors[name_] = read(tensor);
      }
    }
    return tensors;
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const {
    file_.fail(fmt::format("tensor '{}': {}", name_, reason));
  }

  std::uint64_t unsigned_at(Pickle::Ref ref) const {
    const Pickle::Value& value = pickle_[ref];
    if (value.kind != Kind::kInteger || value.number < 0) fail("a size is not a whole number");
    return static_cast<std::uint64_t>(value.number);
  }

  std::vector<std::int64_t> extents_at(Pickle::Ref ref) const {
    const Pickle::Value& value = pickle_[ref];
    if (value.kind != Kind::kTuple || value.items.size() > kMaxDimensions) {
      fail("its shape is not a tuple of sizes");
    }
    std::vector<std::int64_t> extents;
    for (const Pickle::Ref item : value.items) {
      extents.push_back(static_cast<std::int64_t>(unsigned_at(item)));
    }
    return extents;
  }

  Storage storage_at(Pickle::Ref ref) const {
    const Pickle::Value& value = pickle_[ref];
    if (value.kind != Kind::kStorage) fail("it has no storage");
    const std::string& name = pickle_[value.items[1]].text;
    const auto* type = std::find_if(std::begin(kStorageTypes), std::end(kStorageTypes),
                                    [&](const StorageType& known) { return name == known.name; });
    if (type == std::end(kStorageTypes)) fail(fmt::format("{} is not a storage", name));
    return {pickle_[value.items[2]].text, type, unsigned_at(value.items[4])};
  }

  StridedTensor describe(const Pickle::Value& value) const {
    StridedTensor tensor;
    tensor.storage = storage_at(value.items[0]);
    tensor.offset = unsigned_at(value.items[1]);
    tensor.shape = extents_at(value.items[2]);
    tensor.strides = extents_at(value.items[3]);
    if (tensor.strides.size() != tensor.shape.size()) fail("its strides do not fit its shape");
    if (!count_elements(tensor.shape, tensor.count)) fail("its shape is too large");
    // Expanded tensors would have more; state dicts do not contain any.
    if (tensor.count > tensor.storage.count) fail("it has more elements than its storage");
    tensor.reach = tensor.count > 0 ? 1 : 0;
    for (std::size_t d = 0; d < tensor.shape.size() && tensor.count > 0; ++d) {
      std::uint64_t way = 0;
      if (__builtin_mul_overflow(static_cast<std::uint64_t>(tensor.shape[d] - 1),
                                 static_cast<std::uint64_t>(tensor.strides[d]), &way) ||
          __builtin_add_overflow(tensor.reach, way, &tensor.reach)) {
        fail("its strides are too large");
      }
    }
    if (tensor.offset > tensor.storage.count ||
        tensor.reach > tensor.storage.count - tensor.offset) {
      fail(fmt::format("it reaches beyond its storage of {} elements", tensor.storage.count));
    }
    return tensor;
  }

  Tensor read(const StridedTensor& from) {
    const StorageType& type = *from.storage.type;
    const auto place = storages_.find(from.storage.key);
    if (place == storages_.end()) {
      fail(fmt::format("its storage '{}' is not there", from.storage.key));
    }
    if (from.storage.count > place->second.bytes / type.bytes) {
      fail(fmt::format("its storage of {} elements has only {} bytes", from.storage.count,
                       place->second.bytes));
    }
    // Bounds memory by the file's size, although views may overlap.
    elements_ += from.count;
    if (elements_ > kMaxSharing * file_.size()) file_.fail("its tensors overlap too often");
    // Allocates at most `reach` elements, which the checks above have bounded by the storage and
    // the file.
    std::vector<float> stored(from.reach);
    file_.read_floats(type.type, type.bytes, place->second.begin + from.offset * type.bytes,
                      from.reach, stored.data());
    if (is_contiguous(from)) return {from.shape, std::move(stored), {}};
    Tensor tensor{from.shape, std::vector<float>(from.count), {}};
    gather(from, stored, tensor.values);
    return tensor;
  }

  static bool is_contiguous(const StridedTensor& tensor) {
    // Row-major: the stride of each dimension is the product of the later extents.
    std::int64_t expected = 1;
    for (std::size_t d = tensor.shape.size(); d > 0; --d) {
      // The stride of an extent of 1 is never used, so it may be anything.
      if (tensor.shape[d - 1] != 1 && tensor.strides[d - 1] != expected) return tensor.count == 0;
      expected *= tensor.shape[d - 1];
    }
    return true;
  }

  // Counts the indices like an odometer, the last one fastest.
  static void gather(const StridedTensor& from, const std::vector<float>& stored,
                     std::vector<float>& values) {
    std::vector<std::int64_t> index(from.shape.size());
    std::int64_t at = 0;
    for (float& value : values) {
      value = stored[static_cast<std::size_t>(at)];
      for (std::size_t d = index.size(); d > 0; --d) {
        at += from.strides[d - 1];
        if (++index[d - 1] < from.shape[d - 1]) break;
        at -= from.strides[d - 1] * from.shape[d - 1];
        index[d - 1] = 0;
      }
    }
  }

  const TensorInput& file_;
  const Pickle& pickle_;
  const Storages& storages_;
  std::string name_;  // of the current tensor
  std::uint64_t elements_ = 0;
};

// <archive>/data.pkl, <archive>/data/<key>, and, since torch 2, <archive>/byteorder.
TensorMap read_archive(const TensorInput& file) {
  const std::map<std::string, ZipMember> members = read_zip_members(file);
  constexpr std::string_view kPickleName = "data.pkl";
  const auto is_pickle = [&](const auto& member) {
    return member.first == kPickleName || member.first.ends_with("/data.pkl");
  };
  const auto pickle_member = std::find_if(members.begin(), members.end(), is_pickle);
  if (pickle_member == members.end()) file.fail("it is a zip archive without data.pkl");
  const std::string& name = pickle_member->first;
  const std::string folder = name.substr(0, name.size() - kPickleName.size());
  const auto order = members.find(folder + "byteorder");
  if (order != members.end() &&
      (order->second.bytes != 6 || file.read(order->second.begin, 6) != "little")) {
    file.fail("its numbers are not little-endian");
  }
  if (pickle_member->second.bytes > kMaxPickleBytes) file.fail("its data.pkl is too large");
  const std::string bytes = file.read(pickle_member->second.begin, pickle_member->second.bytes);
  std::size_t at = 0;
  const Pickle pickle(file, bytes, at);
  Storages storages;
  const std::string data = folder + "data/";
  for (const auto& [member, place] : members) {
    if (member.starts_with(data)) storages[member.substr(data.size())] = place;
  }
  return TorchReader(file, pickle, storages).read();
}

// The old format gives a storage's length in elements. Their type is only in the state dict.
std::uint64_t storage_bytes(const TensorInput& file, const Pickle& pickle, const std::string& key) {
  for (const Pickle::Ref ref : pickle.storages()) {
    const Pickle::Value& storage = pickle[ref];
    if (pickle[storage.items[2]].text != key) continue;
    for (const StorageType& type : kStorageTypes) {
      if (pickle[storage.items[1]].text == type.name) return type.bytes;
    }
  }
  file.fail(fmt::format("nothing describes its storage '{}'", key));
}

// The format before torch 1.6: pickles of a magic number, a version, the system's sizes, the state
// dict and the storages' keys. Then, for each storage, the number of elements and the elements.
TensorMap read_old_file(const TensorInput& file) {
  const std::string bytes = file.read(0, std::min(file.size(), kMaxPickleBytes));
  std::size_t at = 0;
  const Pickle magic(file, bytes, at);
  // 0x1950a86a20f9469cfc6c, little-endian: torch's MAGIC_NUMBER.
  if (magic.root().text != std::string_view("\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19", 10)) {
    file.fail("torch.save did not write it");
  }
  const Pickle version(file, bytes, at);
  if (version.root().number != 1001) file.fail("it is of an unknown version");
  // Skipped: sizes of C types on the machine that wrote it.
  const Pickle system(file, bytes, at);
  const Pickle pickle(file, bytes, at);
  const Pickle keys(file, bytes, at);
  Storages storages;
  std::uint64_t place = at;
  // In the order of this list: each storage's length stands right before its elements.
  for (const Pickle::Ref ref : keys.root().items) {
    const std::string& key = keys[ref].text;
    std::uint64_t count = 0;
    std::memcpy(&count, file.read(place, sizeof count).data(), sizeof count);
    place += sizeof count;
    std::uint64_t size = 0;
    if (__builtin_mul_overflow(count, storage_bytes(file, pickle, key), &size) ||
        !file.holds(place, size)) {
      file.fail(fmt::format("its storage '{}' is cut short", key));
    }
    storages[key] = {place, size};
    place += size;
  }
  return TorchReader(file, pickle, storages).read();
}

}  // namespace

TensorMap read_torch_file(const std::string& path) {
  const TensorInput file(path);
  if (file.size() < 4) file.fail("it is shorter than 4 bytes");
  const std::string start = file.read(0, 4);
  if (start == "PK\x03\x04") return read_archive(file);
  // A pickle of protocol 2 or later begins with PROTO, 0x80.
  if (start.starts_with('\x80')) return read_old_file(file);
  file.fail("torch.save did not write it");
}

}  // namespace dtl::trainer
