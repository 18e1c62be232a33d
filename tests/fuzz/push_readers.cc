// Readers of a push whose hosts feed each other: requests of anybody who finds a seeder's port,
// pieces from a host that lies, and the launcher's list of checksums. And of --sync: the list of a
// folder, and what a host says that it lacks.

#include <fmt/format.h>
#include <sys/types.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "agent/entrance/push_peers.h"
#include "agent/entrance/push_seeder.h"
#include "base/folders/folder_list.h"
#include "base/sha256.h"
#include "tests/fuzz/reader.h"

namespace dtl::fuzz {
namespace {

constexpr std::size_t kFuzzedPiece = 8;

std::string fuzzed_ticket() {
  return std::string(kTicketDigits, 'a');
}

void read_request(const std::string& bytes) {
  const auto offset = read_seeder_request(bytes, fuzzed_ticket());
  require(!offset || seeder_request(fuzzed_ticket(), *offset) == bytes, "another request");
  require(bytes.starts_with(fuzzed_ticket()) || !offset, "a stranger was served");
}

std::string promised_bytes() {
  return "the programs of a push, in pieces";
}

PieceSums promised_sums() {
  PieceSums pieces{kFuzzedPiece, {}};
  const std::string bytes = promised_bytes();
  for (std::size_t at = 0; at < bytes.size(); at += kFuzzedPiece) {
    pieces.sums.push_back(sha256_hex(std::string_view(bytes).substr(at, kFuzzedPiece)));
  }
  return pieces;
}

// Whatever a host sends, only promised pieces are kept.
void read_pieces(const Folder& folder, const std::string& bytes) {
  const std::string place = folder.file("pieces");
  std::filesystem::remove_all(place);
  std::filesystem::create_directories(place);
  const std::string promised = promised_bytes();
  const std::vector<PromisedFile> files = {
      {"first", 11, sha256_hex(promised.substr(0, 11))},
      {"second", promised.size() - 11, sha256_hex(promised.substr(11))}};
  ArrivingFiles arriving(place, files);
  std::size_t at = 0;
  const auto read = [&](std::span<char> room) {
    if (bytes.size() - at < room.size()) throw Error(Exit::kIo, "cannot read", "the end");
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(at), room.size(), room.begin());
    at += room.size();
  };
  try {
    take_pieces(arriving, promised_sums(), read, [] {});
  } catch (const Error&) {
    require(bytes.starts_with(promised.substr(0, arriving.have())), "an unpromised piece is kept");
    throw;
  }
  require(bytes.starts_with(promised), "other bytes than promised");
}

void read_list(const std::string& bytes) {
  const PushPieces list = parse_push_pieces(bytes, promised_bytes().size());
  require(list.ticket.size() == kTicketDigits && !list.pieces.sums.empty(), "half a list");
}

std::string piece_list() {
  std::string line = fmt::format("pieces {} {}", kFuzzedPiece, fuzzed_ticket());
  for (const std::string& sum : promised_sums().sums) line += " " + sum;
  return line;
}

FolderRequest listed_folder() {
  FolderRequest request{"/work", ".dtlaunch-proof.1.a.b", "synced-work-1", "/usr/bin/python3",
                        "3.11"};
  request.entries = {{EntryKind::kFile, "a/b", 0644, 12, 1'700'000'000'000'000'000},
                     {EntryKind::kLink, "c", 0, 0, 0, "a/b"},
                     {EntryKind::kEmptyFolder, "d"}};
  return request;
}

void read_folder_list(const std::string& bytes) {
  const FolderRequest request = parse_folder_request(bytes);
  for (const FolderEntry& entry : request.entries) {
    require(is_inner_path(entry.path), "a path leaves the folder");
  }
  require(parse_folder_request(folder_request_text(request)) == request, "another list");
}

void read_wanted(const std::string& bytes) {
  constexpr std::size_t kEntries = 100;
  const std::vector<std::size_t> wanted = parse_wanted(bytes, kEntries);
  require(wanted.size() <= kEntries && std::is_sorted(wanted.begin(), wanted.end()), "too many");
  require(wanted.empty() || wanted.back() < kEntries, "an entry that is not in the list");
}

}  // namespace

std::vector<Reader> push_readers(const Folder& folder) {
  const auto has_reason = [](const Error& error) { return !error.reason().empty(); };
  return {{"push.request",
           {seeder_request(fuzzed_ticket(), 0), seeder_request(fuzzed_ticket(), 5115008)},
           {fuzzed_ticket()},
           read_request,
           has_reason},
          {"push.pieces",
           {promised_bytes()},
           {},
           [&folder](const std::string& bytes) { read_pieces(folder, bytes); },
           has_reason},
          {"push.list", {piece_list()}, {"pieces ", fuzzed_ticket()}, read_list, has_reason},
          {"sync.list",
           {folder_request_text(listed_folder())},
           {"f ", "l ", "e "},
           read_folder_list,
           has_reason},
          {"sync.wanted", {"none", "0-3,7,99"}, {"none", "-", ","}, read_wanted, has_reason}};
}

}  // namespace dtl::fuzz
