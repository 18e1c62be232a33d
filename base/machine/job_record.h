#pragma once
// JobRecord: a small file that says that a job, or a node's part of it, is running here, for
// `dtlaunch ps` and its kin. The launcher and each agent write their own and remove it at the end;
// one whose process is gone is a leftover. Nothing depends on records: a job runs without them.

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
  std::string host;           // the name of the machine that it is on
  std::string launcher_host;  // the same of the job's launcher
  std::string hosts;          // launcher: as named in the hostfile, "node1,node2"
  std::string command;
  std::vector<std::string> tags;  // launcher: the user's, none of which has a comma
  int ranks = 0;                  // launcher: of the job; agent: of this node
  std::int64_t since = 0;         // seconds since 1970
  std::string state;  // launcher's: "starting", "running", "restarting", ... "ended", or kLostState
  int exit_status = 0;              // once ended
  bool detached = false;            // its output is kept
  bool labelled = false;            // -l
  int restarts = 0;                 // launcher: how often the ranks were started again
  std::vector<std::string> epochs;  // launcher: how the last of those ended, a line each
};

// The state in the kept record of a job whose launcher was killed, once that was cleaned.
constexpr const char* kLostState = "lost";

// "key value" lines; what a terminal would act on in a value is spelled out (printable()).
std::string to_text(const JobRecord& record);
// Unknown keys are skipped; nullopt without a job id and a process.
std::optional<JobRecord> parse_job_record(const std::string& text);

// Where the record of this process belongs: FOLDER/JOB.ROLE.PID
std::string record_path(const std::string& folder, const JobRecord& record);
// Replaces the file in one step, without waiting for the disk. False when it cannot be written.
bool write_record(const std::string& path, const JobRecord& record);

struct RecordFile {
  std::string path;
  JobRecord record;
};
// All records of a folder, in order of name; other files are skipped.
std::vector<RecordFile> read_records(const std::string& folder);

// The records that launchers and agents of this machine have made, of all places for them.
std::vector<RecordFile> records_here();

// The jobs of which a launcher or an agent was killed here, and none runs here any more.
std::set<std::string> dead_jobs(const std::vector<RecordFile>& records);

// The record of this very process: its file goes away with it, unless it is killed.
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

// The folder of a detached job's kept files, below state_folder(); not made.
std::string kept_job_folder(const std::string& job_id);
std::string kept_jobs_folder();
constexpr const char* kKeptLog = "log";        // older output is in log.1
constexpr const char* kKeptRecord = "record";  // the launcher's, also when the job is over
constexpr const char* kKeptReport = "report.json";

// 16 hexadecimal digits, or a beginning of that.
bool is_job_id_prefix(const std::string& text);

}  // namespace dtl
