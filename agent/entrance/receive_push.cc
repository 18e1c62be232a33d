// Only the checksums on the command line are trusted: each file is hashed as it arrives. All files
// are on disk (fsync) before the folder gets its final name, so a crash leaves no incomplete
// version. Many hosts may share the cache's file system and fill it at the same time.
#include "agent/entrance/receive_push.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/entrance/arriving_files.h"
#include "agent/entrance/push_peers.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/host_name.h"
#include "base/machine/runtime_folder.h"
#include "base/sha256.h"
#include "base/text.h"
#include "wire/greeting.h"

namespace dtl {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kKeptVersions = 3;  // of each kind: the current one and two to go back to
constexpr std::int64_t kMaxFileBytes = std::int64_t{1} << 30;
constexpr std::size_t kReceivePieceBytes = 256 << 10;
constexpr const char* kHint = "dtlaunch push --help";
constexpr std::string_view kPeers = "peers";
constexpr std::string_view kTemporary = ".new-";  // .new-RANDOM.PID.HOST

// The name becomes part of a path, so it must stay in the folder and not be hidden.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name[0] != '.' && name.find('/') == std::string::npos;
}

PromisedFile parse_promise(const std::string& text) {
  const std::vector<std::string> parts = split(text, ':');
  const auto bytes = parts.size() == 3 ? parse_integer(parts[1], 1, kMaxFileBytes) : std::nullopt;
  if (!bytes || !is_plain_name(parts[0]) || parts[2].size() != 64) {
    throw Error(Exit::kUsage, "--receive " + text, "not FILE:BYTES:SHA256", kHint);
  }
  return {parts[0], static_cast<std::size_t>(*bytes), parts[2]};
}

Error cannot_write(const std::string& path) {
  return system_error(path + ": cannot write", Exit::kCannotWrite);
}

// dtagent itself, written by the shell: checks that it is complete, and syncs it.
void check_own_file(const std::string& folder, const PromisedFile& file) {
  check_arrived(file, sha256_hex(read_file(folder + "/" + file.name, file.bytes)));
  sync_path(folder + "/" + file.name);
}

// From the launcher alone.
void receive_from_launcher(ArrivingFiles& files) {
  write_all(STDOUT_FILENO, fmt::format("{}send\n", kPushMarker));
  std::string piece(kReceivePieceBytes, '\0');
  while (files.have() < files.total()) {
    const std::size_t left = files.total() - files.have();
    const ssize_t got = ::read(STDIN_FILENO, piece.data(), std::min(left, piece.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) throw Error(Exit::kIo, "cannot read programs", "the launcher left");
    files.add(std::string_view(piece).substr(0, static_cast<std::size_t>(got)));
  }
}

// Whether a killed push left this: its process is gone and ran on this host. Other hosts may share
// the cache, and their processes cannot be checked from here.
bool is_abandoned(const std::string& name) {
  if (!name.starts_with(kTemporary)) return false;
  const std::size_t pid_at = name.find('.', kTemporary.size()) + 1;
  const std::size_t host_at = pid_at == 0 ? 0 : name.find('.', pid_at) + 1;
  if (host_at == 0 || name.substr(host_at) != own_host_name()) return false;
  const auto pid = parse_integer(name.substr(pid_at, host_at - 1 - pid_at), 1, INT32_MAX);
  return pid && ::kill(static_cast<pid_t>(*pid), 0) != 0 && errno == ESRCH;
}

// "" for 0.1.0-0123456789abcdef, "dttrain" for 0.1.0-0123456789abcdef-dttrain.
std::string kind_in_name(const std::string& name) {
  const std::vector<std::string> parts = split(name, '-');
  return parts.size() > 2 ? parts.back() : "";
}

struct Version {
  std::string path;
  fs::file_time_type written;
};

// Best effort: the next push removes what cannot be removed now.
void remove_old(const std::string& cache, const std::string& current) {
  std::vector<Version> versions;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(cache, ignored)) {
    const std::string name = entry.path().filename();
    if (is_abandoned(name)) fs::remove_all(entry.path(), ignored);
    if (name[0] == '.' || name == current || kind_in_name(name) != kind_in_name(current)) continue;
    // Only removes folders that look like a version.
    if (fs::exists(entry.path() / "dtagent", ignored)) {
      versions.push_back({entry.path(), entry.last_write_time(ignored)});
    }
  }
  std::sort(versions.begin(), versions.end(),
            [](const Version& a, const Version& b) { return a.written > b.written; });
  // The version being installed counts as one of those kept.
  for (std::size_t i = kKeptVersions - 1; i < versions.size(); ++i) {
    fs::remove_all(versions[i].path, ignored);
  }
}

// A program that only this user can have written. lstat: a link may lead to others' files.
bool is_own_program(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         status.st_uid == ::geteuid() &&
         (status.st_mode & (S_IXUSR | S_IWGRP | S_IWOTH)) == S_IXUSR;
}

bool is_as_promised(const std::string& folder, std::span<const PromisedFile> files) {
  try {
    if (!is_private_folder(folder)) return false;
    for (const PromisedFile& file : files) {
      const std::string path = folder + "/" + file.name;
      if (!is_own_program(path)) return false;
      check_arrived(file, sha256_hex(read_file(path, file.bytes)));
    }
    return true;
  } catch (const Error&) {
    return false;  // damaged or missing
  }
}

// Moves a damaged version away and removes it. NFS, where many homes are, cannot exchange both in
// one step. Programs running from the old folder continue: their files are removed, not changed.
void put_aside(const std::string& lasting, const std::string& cache) {
  const std::string aside =
      fmt::format("{}/{}damaged.{}.{}", cache, kTemporary, ::getpid(), own_host_name());
  if (::rename(lasting.c_str(), aside.c_str()) != 0 && errno != ENOENT) throw cannot_write(lasting);
  std::error_code ignored;
  fs::remove_all(aside, ignored);
}

void give_lasting_name(const std::string& folder, const std::string& cache, const std::string& name,
                       std::span<const PromisedFile> files) {
  constexpr int kAttempts = 3;  // other launchers may push the same version at the same time
  const std::string lasting = cache + "/" + name;
  // rename(2) fails if a non-empty folder has the name: no version is ever overwritten.
  for (int attempt = 1; ::rename(folder.c_str(), lasting.c_str()) != 0; ++attempt) {
    const bool is_there = errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR;
    if (!is_there || attempt == kAttempts) throw cannot_write(lasting);
    if (is_as_promised(lasting, files)) {  // another launcher was faster
      std::error_code ignored;
      fs::remove_all(folder, ignored);
      return;
    }
    put_aside(lasting, cache);
  }
  sync_path(cache);
}

}  // namespace

void receive_files(const std::string& folder, std::span<const std::string> arguments) {
  const fs::path path(folder);
  const std::string cache = path.parent_path();
  const std::string peers =
      arguments.size() > 1 && arguments[1].starts_with(kPeers) ? arguments[1] : "";
  const std::size_t first = peers.empty() ? 1 : 2;
  if (!path.filename().string().starts_with(kTemporary) || arguments.size() <= first ||
      !is_plain_name(arguments[0])) {
    throw Error(Exit::kUsage, "--receive", "only dtlaunch --push uses it", kHint);
  }
  std::vector<PromisedFile> files;
  for (const std::string& text : arguments.subspan(first)) files.push_back(parse_promise(text));
  check_own_file(folder, files[0]);
  remove_old(cache, arguments[0]);
  ArrivingFiles arriving(folder, std::span(files).subspan(1));
  std::string ticket;
  if (peers.empty()) {
    receive_from_launcher(arriving);
  } else {
    ticket = receive_from_peers(arriving, files[0].bytes).ticket;
  }
  sync_path(folder);
  give_lasting_name(folder, cache, arguments[0], files);
  if (!peers.empty()) seed_to_peers(peers, cache + "/" + arguments[0], files, std::move(ticket));
}

}  // namespace dtl
