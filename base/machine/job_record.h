#pragma once
// JobRecord: a small file that says that a job, or a node's part of it, is running here, for
// `dtlaunch ps` and similar commands. The launcher and each agent write one and remove it at the
// end; one whose process is gone is a leftover. Jobs run without records too.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/machine/process_id.h"

namespace dtl {

struct JobRecord {
  std::string role;  // "launcher" or "agent"
  std::string job_id;
  ProcessId process;          // of the launcher or the agent
  std::string host;           // name of that process's machine
  std::string launcher_host;  // name of the launcher's machine
  std::string hosts;          // launcher: as named in the hostfile, "node1,node2"
  std::string command;
  std::vector<std::string> tags;  // launcher: the user's, none of which has a comma
  int ranks = 0;                  // launcher: of the job; agent: of this node
  std::int64_t since = 0;         // seconds since 1970
  // launcher's: "starting", kWaitingState, "running", "restarting", ... "ended", or kLostState
  std::string state;
  int exit_status = 0;              // once ended
  bool detached = false;            // its output is kept
  bool labelled = false;            // -l
  int restarts = 0;                 // launcher: how often the ranks were restarted
  std::vector<std::string> epochs;  // launcher: how each of the last epochs ended, a line each
};

// The state of a job that waits in line for cores.
constexpr const char* kWaitingState = "waiting";

// The state in the kept record of a job whose launcher was killed, set by the cleanup.
constexpr const char* kLostState = "lost";

// "key value" lines; control characters in a value are escaped (printable()).
std::string to_text(const JobRecord& record);
// Unknown keys are skipped; nullopt without a job id and a process.
std::optional<JobRecord> parse_job_record(const std::string& text);

// The path for the record of this process: FOLDER/JOB.ROLE.PID
std::string record_path(const std::string& folder, const JobRecord& record);
// Replaces the file atomically, without waiting for the disk. False if it cannot be written.
bool write_record(const std::string& path, const JobRecord& record);

struct RecordFile {
  std::string path;
  JobRecord record;
};
// All records of a folder, in order of name; other files are skipped.
std::vector<RecordFile> read_records(const std::string& folder);

// The records of launchers and agents on this machine, from all runtime folders.
std::vector<RecordFile> records_here();

// Jobs whose launcher or agent was killed here, if none of them still runs here.
std::set<std::string> dead_jobs(const std::vector<RecordFile>& records);

// The record of this process: its destructor removes the file.
class OwnRecord {
 public:
  OwnRecord() = default;
  ~OwnRecord() { remove(); }
  OwnRecord(const OwnRecord&) = delete;
  OwnRecord& operator=(const OwnRecord&) = delete;

  // Fills in process and host, and writes. Without a place for it there is no record: jobs matter
  // more.
  void write(JobRecord record);
  void remove();

 private:
  std::string path_;  // empty: nothing written
};

// The folder for a detached job's kept files, below state_folder(); does not create it.
std::string kept_job_folder(const std::string& job_id);
std::string kept_jobs_folder();
constexpr const char* kKeptLog = "log";        // older output is in log.1
constexpr const char* kKeptRecord = "record";  // the launcher's, remains after the job
constexpr const char* kKeptReport = "report.json";

// 16 hexadecimal digits, or the beginning of that.
bool is_job_id_prefix(const std::string& text);

}  // namespace dtl
