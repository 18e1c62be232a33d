#include "trainer/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/fd.h"

namespace dtl::trainer {
namespace {

using Json = nlohmann::json;

static_assert(std::endian::native == std::endian::little, "safetensors is little-endian");

constexpr std::size_t kMaxFileBytes = std::size_t{64} << 30;
constexpr std::size_t kMaxIndexBytes = 64 << 20;
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;  // the format's own limit
constexpr std::size_t kPrefixBytes = 8;

[[noreturn]] void fail(const std::string& path, const std::string& reason) {
  throw Error(Exit::kBadInput, fmt::format("{}: cannot read the tensors", path), reason);
}

float from_half(std::uint16_t half) {
  const int exponent = (half >> 10) & 0x1F;
  const float fraction = static_cast<float>(half & 0x3FF);
  float magnitude = 0;
  if (exponent == 0) {
    magnitude = std::ldexp(fraction, -24);
  } else if (exponent == 31) {
    magnitude = (half & 0x3FF) == 0 ? INFINITY : NAN;
  } else {
    magnitude = std::ldexp(fraction + 1024, exponent - 25);
  }
  return (half & 0x8000) != 0 ? -magnitude : magnitude;
}

float from_bfloat(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

struct Type {
  const char* name;
  std::size_t bytes;
  bool real;  // whole numbers and truth values are checked, then left out
};
constexpr Type kTypes[] = {
    {"F32", 4, true},  {"F16", 2, true},  {"BF16", 2, true}, {"F64", 8, true},  {"I64", 8, false},
    {"I32", 4, false}, {"I16", 2, false}, {"I8", 1, false},  {"U64", 8, false}, {"U32", 4, false},
    {"U16", 2, false}, {"U8", 1, false},  {"BOOL", 1, false}};

// One tensor as the header describes it.
struct Entry {
  std::string name;
  const Type* type = nullptr;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0, end = 0;  // bytes from the end of the header
};

template <typename Stored, typename Convert>
std::vector<float> converted(std::string_view bytes, Convert convert) {
  std::vector<float> values(bytes.size() / sizeof(Stored));
  for (std::size_t i = 0; i < values.size(); ++i) {
    Stored stored;
    std::memcpy(&stored, bytes.data() + i * sizeof(Stored), sizeof(Stored));
    values[i] = convert(stored);
  }
  return values;
}

std::vector<float> to_floats(std::string_view type, std::string_view bytes) {
  if (type == "F16") return converted<std::uint16_t>(bytes, from_half);
  if (type == "BF16") return converted<std::uint16_t>(bytes, from_bfloat);
  if (type == "F64") {
    return converted<double>(bytes, [](double value) { return static_cast<float>(value); });
  }
  return converted<float>(bytes, [](float value) { return value; });
}

std::uint64_t unsigned_in(const std::string& path, const std::string& name, const Json& value) {
  if (!value.is_number_unsigned()) {
    fail(path, fmt::format("tensor '{}': {} is not a size", name, value.dump()));
  }
  return value.get<std::uint64_t>();
}

Entry read_entry(const std::string& path, const std::string& name, const Json& json) {
  const auto wrong = [&](const std::string& reason) {
    fail(path, fmt::format("tensor '{}': {}", name, reason));
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
  entry.type = found;
  std::uint64_t bytes = entry.type->bytes;
  for (const Json& dimension : json["shape"]) {
    const std::uint64_t size = unsigned_in(path, name, dimension);
    if (__builtin_mul_overflow(bytes, size, &bytes) || size > INT64_MAX) {
      wrong("its shape is too large");
    }
    entry.shape.push_back(static_cast<std::int64_t>(size));
  }
  entry.begin = unsigned_in(path, name, json["data_offsets"][0]);
  entry.end = unsigned_in(path, name, json["data_offsets"][1]);
  if (entry.end < entry.begin || entry.end - entry.begin != bytes) {
    wrong(fmt::format("{} bytes of shape and dtype do not fit data_offsets [{}, {}]", bytes,
                      entry.begin, entry.end));
  }
  return entry;
}

// The header as JSON; a name given twice is refused, because readers would differ about it.
Json parse_header(const std::string& path, std::string_view text) {
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
  if (!text.starts_with('{') || !header.is_object()) fail(path, "its header is not a JSON object");
  if (!twice.empty()) fail(path, fmt::format("tensor '{}' is there twice", twice));
  return header;
}

std::vector<Entry> read_header(const std::string& path, std::string_view file) {
  if (file.size() < kPrefixBytes) fail(path, "it is shorter than 8 bytes");
  std::uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, file.data(), kPrefixBytes);
  if (header_bytes > kMaxHeaderBytes || header_bytes > file.size() - kPrefixBytes) {
    fail(path,
         fmt::format("its header claims {} bytes of a file of {}", header_bytes, file.size()));
  }
  const Json header = parse_header(path, file.substr(kPrefixBytes, header_bytes));
  std::vector<Entry> entries;
  for (const auto& [name, json] : header.items()) {
    if (name != "__metadata__") entries.push_back(read_entry(path, name, json));
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  std::uint64_t expected = 0;
  for (const Entry& entry : entries) {
    if (entry.begin != expected) {
      fail(path, fmt::format("tensor '{}' starts at byte {} where {} was expected", entry.name,
                             entry.begin, expected));
    }
    expected = entry.end;
  }
  const std::uint64_t data_bytes = file.size() - kPrefixBytes - header_bytes;
  if (expected != data_bytes) {
    fail(path, fmt::format("the tensors take {} bytes but the file has {}", expected, data_bytes));
  }
  return entries;
}

void read_one(const std::string& path, TensorMap& tensors) {
  const std::string file = read_file(path, kMaxFileBytes);
  const std::vector<Entry> entries = read_header(path, file);
  const std::uint64_t data_bytes = entries.empty() ? 0 : entries.back().end;
  const std::string_view data = std::string_view(file).substr(file.size() - data_bytes);
  for (const Entry& entry : entries) {
    if (!entry.type->real) continue;
    tensors[entry.name] = {
        entry.shape,
        to_floats(entry.type->name, data.substr(entry.begin, entry.end - entry.begin))};
  }
}

// The files named by an index lie beside it.
std::set<std::string> indexed_files(const std::string& path) {
  const Json index =
      Json::parse(read_file(path, kMaxIndexBytes), nullptr, /*allow_exceptions=*/false);
  if (!index.is_object() || !index.contains("weight_map") || !index["weight_map"].is_object()) {
    fail(path, "it has no weight_map");
  }
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  std::set<std::string> files;
  for (const auto& [name, file] : index["weight_map"].items()) {
    if (!file.is_string() || file.get<std::string>().find('/') != std::string::npos) {
      fail(path, fmt::format("tensor '{}': {} is not the name of a file", name, file.dump()));
    }
    files.insert(folder + file.get<std::string>());
  }
  return files;
}

}  // namespace

TensorMap read_safetensors(const std::string& path) {
  TensorMap tensors;
  if (path.ends_with(".index.json")) {
    for (const std::string& file : indexed_files(path)) read_one(file, tensors);
  } else {
    read_one(path, tensors);
  }
  return tensors;
}

void write_safetensors(const std::string& path, const TensorMap& tensors) {
  nlohmann::ordered_json header = {{"__metadata__", {{"format", "pt"}}}};
  auto& members = header.get_ref<nlohmann::ordered_json::object_t&>();
  std::uint64_t offset = 0;
  for (const auto& [name, tensor] : tensors) {
    const std::uint64_t end = offset + tensor.values.size() * sizeof(float);
    members.push_back(
        {name, {{"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {offset, end}}}});
    offset = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // so that the values are aligned
  const std::uint64_t header_bytes = text.size();
  std::string file(kPrefixBytes, '\0');
  std::memcpy(file.data(), &header_bytes, kPrefixBytes);
  file.reserve(kPrefixBytes + text.size() + offset);
  file += text;
  for (const auto& [name, tensor] : tensors) {
    file.append(reinterpret_cast<const char*>(tensor.values.data()),
                tensor.values.size() * sizeof(float));
  }
  write_file_atomically(path, file);
}

}  // namespace dtl::trainer
