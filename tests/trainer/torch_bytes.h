#pragma once
// Files as torch.save writes them, made here so that tests need no torch. Archives are as those of
// torch 1.6 and later (without zip64), pickles of protocol 2.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace dtl::trainer {

template <class T>
std::string raw(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

inline std::string pickled_text(const std::string& text) {
  return "X" + raw(static_cast<std::uint32_t>(text.size())) + text;
}

inline std::string pickled_sizes(const std::vector<int>& sizes) {
  std::string bytes = "(";
  for (const int size : sizes) bytes += "J" + raw(size);
  return bytes + "t";
}

struct TorchTensor {
  std::string name, storage_class, key;  // "FloatStorage", "0"
  int storage_count = 0;                 // elements
  int offset = 0;
  std::vector<int> shape, strides;
};

inline std::string pickled_tensor(const TorchTensor& t) {
  return "ctorch._utils\n_rebuild_tensor_v2\n((" + pickled_text("storage") + "ctorch\n" +
         t.storage_class + "\n" + pickled_text(t.key) + pickled_text("cpu") + "J" +
         raw(t.storage_count) + "tQJ" + raw(t.offset) + pickled_sizes(t.shape) +
         pickled_sizes(t.strides) + "\x89" + "ccollections\nOrderedDict\n)RtR";
}

// With an attribute _metadata, as state_dict() gives it.
inline std::string pickled_state_dict(const std::vector<TorchTensor>& tensors) {
  std::string bytes =
      "\x80\x02"
      "ccollections\nOrderedDict\n)Rq" +
      std::string(1, '\0') + "(";
  for (const TorchTensor& tensor : tensors) {
    bytes += pickled_text(tensor.name) + pickled_tensor(tensor);
  }
  return bytes + "u}" + pickled_text("_metadata") + "h" + std::string(1, '\0') + "sb.";
}

using Members = std::vector<std::pair<std::string, std::string>>;

inline std::string zip_of(const Members& members, std::uint16_t method = 0) {
  std::string bytes, directory;
  for (const auto& [name, contents] : members) {
    const auto size = static_cast<std::uint32_t>(contents.size());
    const std::string common = raw<std::uint16_t>(0) + raw(method) + raw<std::uint32_t>(0) +
                               raw<std::uint32_t>(0) + raw(size) + raw(size) +
                               raw(static_cast<std::uint16_t>(name.size()));
    directory += std::string("PK\x01\x02") + raw<std::uint16_t>(0) + raw<std::uint16_t>(0) +
                 common + raw<std::uint16_t>(0) + raw<std::uint16_t>(0) + raw<std::uint16_t>(0) +
                 raw<std::uint16_t>(0) + raw<std::uint32_t>(0) +
                 raw(static_cast<std::uint32_t>(bytes.size())) + name;
    bytes += std::string("PK\x03\x04") + raw<std::uint16_t>(0) + common + raw<std::uint16_t>(0) +
             name + contents;
  }
  const auto count = static_cast<std::uint16_t>(members.size());
  return bytes + directory + "PK\x05\x06" + raw<std::uint32_t>(0) + raw(count) + raw(count) +
         raw(static_cast<std::uint32_t>(directory.size())) +
         raw(static_cast<std::uint32_t>(bytes.size())) + raw<std::uint16_t>(0);
}

inline std::string float_bytes(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

// `storages`: key and bytes of each.
inline std::string torch_archive(const std::string& pickle, const Members& storages) {
  Members members = {{"archive/data.pkl", pickle}, {"archive/byteorder", "little"}};
  for (const auto& [key, bytes] : storages) members.push_back({"archive/data/" + key, bytes});
  members.push_back({"archive/version", "3\n"});
  return zip_of(members);
}

// As torch before 1.6 wrote it; every storage of FloatStorage.
inline std::string old_torch_file(const std::string& pickle, const Members& storages) {
  std::string bytes("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", 15);
  bytes += "\x80\x02M" + raw<std::uint16_t>(1001) + ".";
  bytes += "\x80\x02}" + pickled_text("little_endian") + "\x88s." + pickle + "\x80\x02](";
  std::string data;
  for (const auto& [key, contents] : storages) {
    bytes += pickled_text(key);
    data += raw(static_cast<std::uint64_t>(contents.size() / sizeof(float))) + contents;
  }
  return bytes + "e." + data;
}

}  // namespace dtl::trainer
