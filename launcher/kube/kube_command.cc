// Notices go to standard error, so that `dtlaunch kube render ... | kubectl apply -f -` works.
#include "launcher/kube/kube_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/log.h"
#include "launcher/kube/kube_job.h"
#include "launcher/kube/manifest.h"
#include "launcher/options/subcommand_options.h"

namespace dtl {
namespace {

std::string help() {
  return "usage: dtlaunch kube render --kind KIND [options] [--] [options of dtlaunch]\n"
         "       program [argument ...]\n"
         "Prints the manifest of a job for kubectl apply. The pods run dtlaunch with the\n"
         "program and with the options after \"--\". A job file works as for dtlaunch.\n" +
         options_text(subcommand_options("kube").options());
}

// An MPIJob creates its key itself. The pods of all other kinds need the token. The command reads
// it from standard input, so that no shell's history has it.
std::string introduction(const KubeJob& job) {
  if (job.kind == KubeKind::kMpiJob) {
    return "# Made by dtlaunch kube render: see dtlaunch-kubernetes(7).\n";
  }
  const std::string where = job.name_space.empty() ? "" : " -n " + job.name_space;
  return fmt::format(
      "# Made by dtlaunch kube render: see dtlaunch-kubernetes(7). Its pods need a token, made "
      "once:\n"
      "#   openssl rand -hex 32 | kubectl{} create secret generic {} "
      "--from-file=token=/dev/stdin\n",
      where, job.secret);
}

}  // namespace

int run_kube_command(const std::vector<std::string>& arguments) {
  // Parsed before this check, so that `dtlaunch kube --help` works without the word render.
  const bool renders = !arguments.empty() && arguments[0] == "render";
  const SubcommandOptions options =
      parse_subcommand("kube", {arguments.begin() + (renders ? 1 : 0), arguments.end()});
  if (options.help) {
    write_all(STDOUT_FILENO, help());
    return 0;
  }
  if (!renders) {
    throw option_error("kube", "its only command is render", "dtlaunch kube render --help");
  }
  const KubeJob job = kube_job_of(options);
  // Before the notices: if it throws, only the error is printed.
  const std::string manifest = introduction(job) + manifest_of(job);
  for (const std::string& notice : job.notices) log_notice(notice);
  write_all(STDOUT_FILENO, manifest);
  return 0;
}

}  // namespace dtl
