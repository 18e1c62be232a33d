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

std::string take_job(const std::string& name, const SubcommandOptions& options) {
  if (!wants_job(name)) {
    refuse_words(name, options);
    return {};
  }
  const std::vector<std::string>& words = options.words;
  if (words.size() != 1) {
    throw option_error(name,
                       words.empty() ? "needs the id of a job"
                                     : fmt::format("takes one job, and {} are given", words.size()),
                       "dtlaunch ps");
  }
  // Ids are lower case hexadecimal; a user may paste one from elsewhere. Whether the beginning is
  // unique is known only after hosts have been asked.
  const std::string job = to_lower(words[0]);
  if (is_job_id_prefix(job)) return job;
  throw option_error(one_shell_word(words[0]),
                     "not the id of a job (16 hexadecimal digits; the first few will do)",
                     "dtlaunch ps");
}

}  // namespace

bool wants_job(const std::string& name) {
  return name != "ps" && name != "clean";
}

JobsCommand parse_jobs_command(const std::string& name, const std::vector<std::string>& arguments) {
  JobsCommand command{parse_subcommand(name, arguments), {}, {}};
  if (command.help) return command;
  command.job = take_job(name, command);
  command.hosts = named_hosts(command);
  return command;
}

std::string jobs_help(const std::string& name) {
  std::string text =
      fmt::format("usage: dtlaunch {} [options]{}\n", name, wants_job(name) ? " JOB" : "");
  for (const Subcommand& subcommand : subcommand_table()) {
    if (subcommand.name == name) text += summary_sentence(subcommand);
  }
  return text + options_text(subcommand_options(name).options());
}

}  // namespace dtl
