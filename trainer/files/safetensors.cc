// Format: 8 bytes with the header's length, the header (JSON), then the values, row-major and
// little-endian. The reader checks all sizes before it allocates: anybody may have written the
// file.
#include "trainer/files/safetensors.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "base/error.h"
#include "base/fd.h"
#include "base/files/new_file.h"

namespace dtl::trainer {
namespace {

using Json = nlohmann::json;
using Entry = SafetensorsFile::Entry;

constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // the format's own limit
constexpr std::uint64_t kPrefixBytes = 8;

struct Type {
  const char* name;
  std::uint64_t bytes;
  ElementType type;
};
constexpr ElementType kWhole = ElementType::kWhole;
constexpr Type kTypes[] = {{"F32", 4, ElementType::kF32},
                           {"F16", 2, ElementType::kF16},
                           {"BF16", 2, ElementType::kBF16},
                           {"F64", 8, ElementType::kF64},
                           {"I64", 8, kWhole},
                           {"I32", 4, kWhole},
                           {"I16", 2, kWhole},
                           {"I8", 1, kWhole},
                           {"U64", 8, kWhole},
                           {"U32", 4, kWhole},
                           {"U16", 2, kWhole},
                           {"U8", 1, kWhole},
                           {"BOOL", 1, kWhole}};

std::uint64_t unsigned_in(const TensorInput& file, const std::string& name, const Json& value) {
  if (!value.is_number_unsigned()) {
    // dump() of arrays is recursive: deep nesting would overflow the stack.
    const std::string shown = value.is_primitive() ? value.dump() : "a list or object";
    file.fail(fmt::format("tensor '{}': {} is not a size", name, shown));
  }
  return value.get<std::uint64_t>();
}

// Offsets count from the end of the header, as in the file.
Entry read_entry(const TensorInput& file, const std::string& name, const Json& json) {
  const auto wrong = [&](const std::string& reason) {
    file.fail(fmt::format("tensor '{}': {}", name, reason));
  };
  if (!json.is_object() || !json.contains("dtype") || !json["dtype"].is_string() ||
      !json.contains("shape") || !json["shape"].is_array() || !json.contains("data_offsets") ||
      !json["data_offsets"].is_array() || json["data_offsets"].size() != 2) {
    wrong("it has no dtype, shape and data_offsets");
  }
  Entry entry;
  entry.name = name;
  const std::string type = json["dtype"].get<std::string>();
  const Type* found = std::find_if(std::begin(kTypes), std::end(kTypes),
                                   [&](const Type& known) { return type == known.name; });
  if (found == std::end(kTypes)) wrong(fmt::format("dtype '{}' is not supported", type));
  entry.type = found->type;
  entry.element_bytes = found->bytes;
  entry.type_name = type;
  // A shape that contains 0 has no elements, however large the other extents are.
  std::uint64_t bytes = found->bytes;
  for (const Json& dimension : json["shape"]) {
    const std::uint64_t size = unsigned_in(file, name, dimension);
    if (__builtin_mul_overflow(bytes, size, &bytes) || size > INT64_MAX) {
      wrong("its shape is too large");
    }
    entry.shape.push_back(static_cast<std::int64_t>(size));
  }
  entry.begin = unsigned_in(file, name, json["data_offsets"][0]);
  entry.end = unsigned_in(file, name, json["data_offsets"][1]);
  if (entry.end < entry.begin || entry.end - entry.begin != bytes) {
    wrong(fmt::format("{} bytes of shape and dtype do not fit data_offsets [{}, {}]", bytes,
                      entry.begin, entry.end));
  }
  return entry;
}

// Parses the header. Refuses duplicate names, because readers would disagree about them.
Json parse_header(const TensorInput& file, std::string_view text) {
  std::set<std::string> names;
  std::string twice;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::key && depth == 1 &&
        !names.insert(parsed.get<std::string>()).second) {
      twice = parsed.get<std::string>();
    }
    return true;
  };
  Json header = Json::parse(text.begin(), text.end(), watch, /*allow_exceptions=*/false);
  if (!text.starts_with('{') || !header.is_object()) file.fail("its header is not a JSON object");
  if (!twice.empty()) file.fail(fmt::format("tensor '{}' is there twice", twice));
  return header;
}

// Checks that tensors lie one after the other from `data` to the end of the file. The format
// forbids gaps and overlaps, so that a file cannot hide bytes or name one value twice.
void check_places(const TensorInput& file, const std::vector<Entry>& sorted, std::uint64_t data) {
  std::uint64_t expected = 0;
  for (const Entry& entry : sorted) {
    if (entry.begin != expected) {
      file.fail(fmt::format("tensor '{}' starts at byte {} where {} was expected", entry.name,
                            entry.begin, expected));
    }
    expected = entry.end;
  }
  if (expected != file.size() - data) {
    file.fail(
        fmt::format("the tensors take {} bytes but the file has {}", expected, file.size() - data));
  }
}

std::vector<Entry> read_header(const TensorInput& file) {
  if (file.size() < kPrefixBytes) file.fail("it is shorter than 8 bytes");
  std::uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, file.read(0, kPrefixBytes).data(), kPrefixBytes);
  if (header_bytes > kMaxHeaderBytes || !file.holds(kPrefixBytes, header_bytes)) {
    file.fail(fmt::format("its header claims {} bytes of a file of {}", header_bytes, file.size()));
  }
  const Json header = parse_header(file, file.read(kPrefixBytes, header_bytes));
  std::vector<Entry> entries;
  for (const auto& [name, json] : header.items()) {
    if (name != "__metadata__") entries.push_back(read_entry(file, name, json));
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    // Sort empty tensors first: they begin where the next one does.
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  const std::uint64_t data = kPrefixBytes + header_bytes;
  check_places(file, entries, data);
  for (Entry& entry : entries) {
    entry.begin += data;
    entry.end += data;
  }
  return entries;
}

// Makes the header's length, the header, and spaces that align the values.
std::string header_of(std::span<const TensorView> tensors) {
  nlohmann::ordered_json header = {{"__metadata__", {{"format", "pt"}}}};
  // Append to the underlying vector: an ordered object scans all members at every insertion.
  auto& members = header.get_ref<nlohmann::ordered_json::object_t&>();
  std::uint64_t offset = 0;
  for (const TensorView& tensor : tensors) {
    const std::uint64_t end = offset + tensor.values.size_bytes();
    members.push_back(
        {tensor.name,
         {{"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {offset, end}}}});
    offset = end;
  }
  std::string text = header.dump();
  // The length takes 8 bytes, so the values begin at a multiple of 8.
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const std::uint64_t bytes = text.size();
  std::string prefix(kPrefixBytes, '\0');
  std::memcpy(prefix.data(), &bytes, kPrefixBytes);
  return prefix + text;
}

void write_pieces(int file, std::span<const TensorView> tensors) {
  write_all(file, header_of(tensors));
  for (const TensorView& tensor : tensors) {
    write_all(file,
              {reinterpret_cast<const char*>(tensor.values.data()), tensor.values.size_bytes()});
  }
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::string& path)
    : input_(path), entries_(read_header(input_)) {}

const SafetensorsFile::Entry* SafetensorsFile::find(const std::string& name) const {
  const auto it = std::find_if(entries_.begin(), entries_.end(),
                               [&](const Entry& entry) { return entry.name == name; });
  return it == entries_.end() ? nullptr : &*it;
}

void SafetensorsFile::read(const Entry& entry, float* values) const {
  input_.read_floats(entry.type, entry.element_bytes, entry.begin, entry.count(), values);
}

TensorMap read_safetensors(const std::string& path) {
  const SafetensorsFile file(path);
  TensorMap tensors;
  for (const SafetensorsFile::Entry& entry : file.entries()) {
    Tensor& tensor = tensors[entry.name];
    tensor.shape = entry.shape;
    if (entry.type == ElementType::kWhole) {
      tensor.whole_type = entry.type_name;
      continue;
    }
    tensor.values.resize(entry.count());
    file.read(entry, tensor.values.data());
  }
  return tensors;
}

void write_safetensors(const std::string& path, std::span<const TensorView> tensors) {
  NewFile file(path);
  try {
    write_pieces(file.fd(), tensors);
  } catch (const Error& error) {
    throw cannot_write(path, error);
  }
  file.keep();
}

void write_safetensors(const std::string& path, const TensorMap& tensors) {
  std::vector<TensorView> views;
  for (const auto& [name, tensor] : tensors) views.push_back({name, tensor.shape, tensor.values});
  write_safetensors(path, views);
}

}  // namespace dtl::trainer
