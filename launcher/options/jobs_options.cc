// What the five commands share beyond their tables: which take a job, and what a job's id looks
// like.
#include "launcher/options/jobs_options.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/machine/job_record.h"
#include "base/text.h"
#include "launcher/options/subcommands.h"

namespace dtl {
namespace {

std::string take_job(const std::string& name, const std::vector<std::string>& words) {
  const std::string help = subcommand_help_command(name);
  if (!wants_job(name)) {
    if (words.empty()) return {};
    throw Error(Exit::kUsage, fmt::format("{}: unexpected '{}'", name, words[0]), "", help);
  }
  if (words.size() != 1) {
    throw Error(Exit::kUsage, fmt::format("{} takes one job, and {} are given", name, words.size()),
                "dtlaunch ps shows their ids", help);
  }
  // Ids are lower case hexadecimal; a user may paste one from elsewhere. Whether the beginning is
  // unique is known only after hosts have been asked.
  const std::string job = to_lower(words[0]);
  if (is_job_id_prefix(job)) return job;
  throw Error(Exit::kUsage, fmt::format("'{}' is no job's id", words[0]),
              "an id has 16 hexadecimal digits, of which the first few will do", "dtlaunch ps");
}

}  // namespace

bool wants_job(const std::string& name) {
  return name != "ps" && name != "clean";
}

JobsCommand parse_jobs_command(const std::string& name, const std::vector<std::string>& arguments) {
  JobsCommand command{parse_subcommand(name, arguments), {}, {}};
  if (command.help) return command;
  command.job = take_job(name, command.words);
  command.hosts = named_hosts(command);
  return command;
}

std::string jobs_help(const std::string& name) {
  std::string text =
      fmt::format("usage: dtlaunch {} [options]{}\n", name, wants_job(name) ? " JOB" : "");
  for (const Subcommand& subcommand : subcommand_table()) {
    if (subcommand.name == name) text += fmt::format("{}.\n", subcommand.summary);
  }
  return text + options_text(subcommand_options(name).options());
}

}  // namespace dtl
