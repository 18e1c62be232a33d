// A request is text: fields and names end with NUL, which no path can hold. An entry is
// "f MODE BYTES NANOSECONDS PATH", "l PATH" followed by its target, or "e PATH".
#include "base/folders/folder_list.h"

#include <fmt/format.h>

#include <limits>

#include "base/error.h"
#include "base/text.h"

namespace dtl {
namespace {

constexpr std::size_t kMaxPathBytes = 4095;  // PATH_MAX without its end
constexpr std::int64_t kMaxSize = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMode = 07777;

[[noreturn]] void refuse_request(const std::string& why) {
  throw Error(Exit::kIo, "cannot read the list of a folder", why);
}

class FieldReader {
 public:
  explicit FieldReader(std::string_view text) : text_(text) {}

  bool at_end() const { return text_.empty(); }
  // Up to `separator`, which must come.
  std::string_view until(char separator) {
    const std::size_t end = text_.find(separator);
    if (end == std::string_view::npos) refuse_request("it ends too early");
    const std::string_view field = text_.substr(0, end);
    text_.remove_prefix(end + 1);
    return field;
  }
  std::string text() { return std::string(until('\0')); }
  std::int64_t number(std::int64_t low, std::int64_t high) {
    const auto value = parse_integer(until(' '), low, high);
    if (!value) refuse_request("a number in it is wrong");
    return *value;
  }
  std::string path() {
    std::string path = text();
    if (!is_inner_path(path)) refuse_request("'" + printable(path) + "' is not in the folder");
    return path;
  }

 private:
  std::string_view text_;
};

FolderEntry parse_entry(FieldReader& reader) {
  FolderEntry entry;
  const std::string_view kind = reader.until(' ');
  if (kind == "f") {
    entry.mode = static_cast<unsigned>(reader.number(0, kMode));
    entry.bytes = static_cast<std::uint64_t>(reader.number(0, kMaxSize));
    // Files from before 1970 count as of 1970.
    entry.modified_ns = reader.number(0, kMaxSize);
    entry.path = reader.path();
  } else if (kind == "l") {
    entry.kind = EntryKind::kLink;
    entry.path = reader.path();
    entry.target = reader.text();
    if (entry.target.empty() || entry.target.size() > kMaxPathBytes) {
      refuse_request("a link in it leads nowhere");
    }
  } else if (kind == "e") {
    entry.kind = EntryKind::kEmptyFolder;
    entry.path = reader.path();
  } else {
    refuse_request("it has an entry of an unknown kind");
  }
  return entry;
}

void add_field(std::string& text, std::string_view field) {
  text.append(field);
  text += '\0';
}

}  // namespace

std::string folder_request_text(const FolderRequest& request) {
  std::string text;
  for (const std::string* field : {&request.root, &request.proof, &request.elsewhere,
                                   &request.python, &request.python_version}) {
    add_field(text, *field);
  }
  for (const FolderEntry& entry : request.entries) {
    switch (entry.kind) {
      case EntryKind::kFile:
        text += fmt::format("f {} {} {} ", entry.mode, entry.bytes, entry.modified_ns);
        break;
      case EntryKind::kLink:
        text += "l ";
        break;
      case EntryKind::kEmptyFolder:
        text += "e ";
        break;
    }
    add_field(text, entry.path);
    if (entry.kind == EntryKind::kLink) add_field(text, entry.target);
  }
  return text;
}

FolderRequest parse_folder_request(std::string_view text) {
  FieldReader reader(text);
  FolderRequest request;
  for (std::string* field : {&request.root, &request.proof, &request.elsewhere, &request.python,
                             &request.python_version}) {
    *field = reader.text();
  }
  if (!request.root.starts_with('/') || request.root.size() > kMaxPathBytes) {
    refuse_request("it does not say where the folder is");
  }
  const auto is_plain = [](const std::string& name) {
    return name.find('/') == std::string::npos && name != "." && name != "..";
  };
  if (!is_plain(request.proof) || !is_plain(request.elsewhere)) refuse_request("a name is a path");
  while (!reader.at_end()) request.entries.push_back(parse_entry(reader));
  return request;
}

bool is_own_name(std::string_view name) {
  return name == kSyncFolder || name.starts_with(kProofPrefix);
}

bool is_inner_path(std::string_view path) {
  if (path.empty() || path.size() > kMaxPathBytes) return false;
  if (path.find('\0') != std::string_view::npos) return false;
  bool is_first = true;
  for (const std::string& part : split(path, '/')) {
    if (part.empty() || part == "." || part == "..") return false;
    if (is_first && is_own_name(part)) return false;
    is_first = false;
  }
  return true;
}

bool leads_out(const FolderEntry& link) {
  if (link.target.starts_with('/')) return true;
  std::ptrdiff_t depth = static_cast<std::ptrdiff_t>(split(link.path, '/').size()) - 1;
  for (const std::string& part : split(link.target, '/')) {
    if (part.empty() || part == ".") continue;
    depth += part == ".." ? -1 : 1;
    if (depth < 0) return true;
  }
  return false;
}

std::string wanted_text(const std::vector<std::size_t>& wanted) {
  std::string text;
  for (std::size_t first = 0; first < wanted.size();) {
    std::size_t last = first;
    while (last + 1 < wanted.size() && wanted[last + 1] == wanted[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += last == first ? fmt::format("{}", wanted[first])
                          : fmt::format("{}-{}", wanted[first], wanted[last]);
    first = last + 1;
  }
  return text.empty() ? "none" : text;
}

std::vector<std::size_t> parse_wanted(std::string_view text, std::size_t count) {
  std::vector<std::size_t> wanted;
  if (text == "none") return wanted;
  std::int64_t next = 0;
  for (const std::string& part : split(text, ',')) {
    const std::size_t dash = part.find('-');
    const auto most = static_cast<std::int64_t>(count) - 1;
    const auto first = parse_integer(part.substr(0, dash), next, most);
    const auto last =
        dash == std::string::npos ? first : parse_integer(part.substr(dash + 1), next, most);
    if (!first || !last || *last < *first) {
      throw Error(Exit::kIo, "cannot read which files a host lacks", "it sent something else");
    }
    for (std::int64_t i = *first; i <= *last; ++i) wanted.push_back(static_cast<std::size_t>(i));
    next = *last + 1;
  }
  return wanted;
}

}  // namespace dtl
