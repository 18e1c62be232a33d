// What the commands share beyond their tables: which of them take a job, and the form of a
// job's id.
#include "launcher/options/jobs_options.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/machine/job_record.h"
#include "base/text.h"
#include "launcher/options/subcommands.h"

namespace dtl {
namespace {

// --cores lists cores, not jobs.
void check_cores(const JobsCommand& command) {
  if (!command.cores || !(command.all || command.epochs)) return;
  throw as_typed(option_error(command.all ? "--all" : "--verbose", "it does not go with --cores",
                              "dtlaunch ps --cores"),
                 command.typed);
}

}  // namespace

std::string take_job(const std::string& name, const SubcommandOptions& options) {
  if (!wants_job(name)) {
    refuse_words(name, options);
    return {};
  }
  const std::vector<std::string>& words = options.words;
  const char* list = name == "show" ? "dtlaunch history" : "dtlaunch ps";
  // Only this machine's newest job is meant without an id; top shows all jobs then.
  const bool all_are_meant = name == "top";
  if (words.empty() && may_omit_job(name) && (all_are_meant || !options.names_hosts())) return {};
  if (words.size() != 1) {
    throw option_error(name,
                       words.empty() ? "needs the id of a job"
                                     : fmt::format("takes one job, and {} are given", words.size()),
                       list);
  }
  // Ids are lower case hexadecimal; a user may paste one in upper case. Only the hosts can tell
  // whether the prefix is unique.
  const std::string job = to_lower(words[0]);
  if (is_job_id_prefix(job)) return job;
  throw option_error(one_shell_word(words[0]),
                     "not the id of a job (16 hexadecimal digits; the first few will do)", list);
}

bool wants_job(const std::string& name) {
  return name != "ps" && name != "clean" && name != "queue" && name != "history";
}

bool may_omit_job(const std::string& name) {
  return name == "logs" || name == "show" || name == "top";
}

JobsCommand parse_jobs_command(const std::string& name, const std::vector<std::string>& arguments) {
  JobsCommand command{parse_subcommand(name, arguments), {}, {}};
  if (command.help) return command;
  command.job = take_job(name, command);
  check_cores(command);
  command.hosts = named_hosts(command);
  return command;
}

std::string jobs_help(const std::string& name) {
  std::string text = fmt::format("usage: dtlaunch {} [options]{}\n", name,
                                 may_omit_job(name) ? " [JOB]"
                                 : wants_job(name)  ? " JOB"
                                                    : "");
  for (const Subcommand& subcommand : subcommand_table()) {
    if (subcommand.name == name) text += summary_sentence(subcommand);
  }
  return text + options_text(subcommand_options(name).options());
}

}  // namespace dtl
