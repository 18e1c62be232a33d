// Records are text that people may read with cat. The reader is lenient, as another version of
// dtlaunch may have written it: it skips unknown keys, and missing ones keep their defaults.
#include "base/machine/job_record.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <string_view>

#include "base/error.h"
#include "base/fd.h"
#include "base/host_name.h"
#include "base/machine/runtime_folder.h"
#include "base/text.h"

namespace dtl {
namespace {

// A command may be longer; the record shows its beginning.
constexpr std::size_t kMaxValueBytes = 4096;
constexpr std::size_t kMaxHostsBytes = 16 << 10;  // about 2000 names, for dtlaunch ask
constexpr std::size_t kMaxRecordBytes = 64 << 10;
constexpr std::size_t kJobIdDigits = 16;

template <typename T>
void read_number(const std::string& text, T low, T& number) {
  if (const auto value = parse_integer(text, low, std::numeric_limits<T>::max())) {
    number = static_cast<T>(*value);
  }
}

void take(JobRecord& record, const std::string& key, const std::string& value) {
  if (key == "role") record.role = value;
  if (key == "job") record.job_id = value;
  if (key == "process") record.process = parse_process_id(value).value_or(ProcessId{});
  if (key == "host") record.host = value;
  if (key == "launcher_host") record.launcher_host = value;
  if (key == "hosts") record.hosts = value;
  if (key == "command") record.command = value;
  if (key == "tags") record.tags = split(value, ',');
  if (key == "ranks") read_number(value, 0, record.ranks);
  if (key == "since") read_number(value, std::int64_t{0}, record.since);
  if (key == "state") record.state = value;
  if (key == "exit_status") read_number(value, 0, record.exit_status);
  if (key == "detached") record.detached = value == "yes";
  if (key == "labelled") record.labelled = value == "yes";
  if (key == "restarts") read_number(value, 0, record.restarts);
  if (key == "epoch") record.epochs.push_back(value);
}

}  // namespace

std::string to_text(const JobRecord& record) {
  std::string text;
  const auto line = [&](const char* key, const std::string& value,
                        std::size_t most = kMaxValueBytes) {
    text += std::string(key) + " " + printable(std::string_view(value).substr(0, most)) + "\n";
  };
  line("role", record.role);
  line("job", record.job_id);
  line("process", to_text(record.process));
  line("host", record.host);
  line("launcher_host", record.launcher_host);
  line("hosts", record.hosts, kMaxHostsBytes);
  line("command", record.command);
  if (!record.tags.empty()) line("tags", join(record.tags, ","));
  line("ranks", std::to_string(record.ranks));
  line("since", std::to_string(record.since));
  line("state", record.state);
  line("exit_status", std::to_string(record.exit_status));
  line("detached", record.detached ? "yes" : "no");
  line("labelled", record.labelled ? "yes" : "no");
  line("restarts", std::to_string(record.restarts));
  for (const std::string& epoch : record.epochs) line("epoch", epoch);
  return text;
}

std::optional<JobRecord> parse_job_record(const std::string& text) {
  JobRecord record;
  for (const std::string& line : split(text, '\n')) {
    const std::size_t blank = line.find(' ');
    if (blank != std::string::npos) take(record, line.substr(0, blank), line.substr(blank + 1));
  }
  const bool whole = record.job_id.size() == kJobIdDigits && is_job_id_prefix(record.job_id);
  if (!whole || record.process.pid == 0) return std::nullopt;
  return record;
}

std::string record_path(const std::string& folder, const JobRecord& record) {
  return folder + "/" + record.job_id + "." + record.role + "." +
         std::to_string(record.process.pid);
}

bool write_record(const std::string& path, const JobRecord& record) {
  // A random name is not needed: the path has the pid, and the folder is private.
  const std::string temporary = path + ".tmp";
  try {
    const Fd fd(
        ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd.valid()) return false;
    write_all(fd.get(), to_text(record));
  } catch (const Error&) {  // disk full
    ::unlink(temporary.c_str());
    return false;
  }
  // After a rename over another file, ext4 would write the new one to disk at once (auto_da_alloc),
  // which takes longer than everything else here. An exchange does not.
  if (::renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, path.c_str(), RENAME_EXCHANGE) == 0) {
    ::unlink(temporary.c_str());  // the old one
    return true;
  }
  // The first time there is nothing to exchange; some file systems cannot exchange.
  return ::rename(temporary.c_str(), path.c_str()) == 0;
}

std::vector<RecordFile> read_records(const std::string& folder) {
  std::vector<RecordFile> files;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
    if (entry.path().extension() == ".tmp" || !entry.is_regular_file(failed)) continue;
    try {
      const auto record = parse_job_record(read_file(entry.path().string(), kMaxRecordBytes));
      if (record) files.push_back({entry.path().string(), *record});
    } catch (const Error&) {
      continue;  // removed just now
    }
  }
  std::sort(files.begin(), files.end(),
            [](const RecordFile& a, const RecordFile& b) { return a.path < b.path; });
  return files;
}

std::vector<RecordFile> records_here() {
  std::vector<RecordFile> all;
  for (const std::string& folder : runtime_folders()) {
    for (RecordFile& file : read_records(folder + "/jobs")) all.push_back(std::move(file));
  }
  return all;
}

std::set<std::string> dead_jobs(const std::vector<RecordFile>& records) {
  // A job is dead if one of its processes was killed and none runs.
  std::set<std::string> dead;
  for (const RecordFile& file : records) {
    if (has_ended(file.record.process)) dead.insert(file.record.job_id);
  }
  for (const RecordFile& file : records) {
    if (!has_ended(file.record.process)) dead.erase(file.record.job_id);
  }
  return dead;
}

void OwnRecord::write(JobRecord record) {
  record.process = identify(::getpid());
  record.host = own_host_name();
  try {
    const std::string path = record_path(runtime_subfolder("jobs"), record);
    if (write_record(path, record)) path_ = path;
  } catch (const Error&) {
    return;  // the folder in /tmp belongs to somebody else
  }
}

void OwnRecord::remove() {
  if (!path_.empty()) ::unlink(path_.c_str());
  path_.clear();
}

std::string kept_jobs_folder() {
  return state_folder() + "/jobs";
}

std::string kept_job_folder(const std::string& job_id) {
  return kept_jobs_folder() + "/" + job_id;
}

bool is_job_id_prefix(const std::string& text) {
  return !text.empty() && text.size() <= kJobIdDigits &&
         text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

}  // namespace dtl
