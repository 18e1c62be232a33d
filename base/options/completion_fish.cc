#include <fmt/format.h>

#include "base/options/completion_parts.h"
#include "base/text.h"

namespace dtl {
namespace {

constexpr std::string_view kTables =
    R"fish(# Completion of @program@ for fish, written by `@program@ --completion fish`.

# The options of a command with their explanations.
function __@f@_names
    switch "$argv[1]"
@names@    end
end

# What stands behind the option $argv[2] of the command $argv[1]: takes, fill, list and words.
function __@f@_option
    set -l bare (string replace -r '^-*' '' -- (string replace -r '=.*' '' -- $argv[2]))
    if test (string length -- $bare) -gt 1
        set bare (string replace -a _ - -- (string lower -- $bare))
    end
    switch "$argv[1]/$bare"
@options@        case '*'
            printf '%s\n' none nothing no
    end
end

# What a command takes beside options: first or anywhere, fill, list and words.
function __@f@_operand
    switch "$argv[1]"
@operands@    end
end
)fish";

constexpr std::string_view kFishValues = R"fish(
function __@f@_hosts
    awk '@hosts@' (string replace -r '^~/' "$HOME/" -- $argv[1]) $HOME </dev/null 2>/dev/null
end

function __@f@_jobs # all or running
    set -l kept ''
    set -l state $HOME/.local/state/dtlaunch
    set -q XDG_STATE_HOME; and set state $XDG_STATE_HOME/dtlaunch
    set -l session /run/user/(id -u)
    set -l places $session/dtlaunch/jobs
    set -q XDG_RUNTIME_DIR; and set -a places $XDG_RUNTIME_DIR/dtlaunch/jobs
    test $argv[1] = all; and set kept $state/jobs
    awk '@jobs@' $places $state/run-(uname -n)/jobs /tmp/dtlaunch-(id -u)/jobs $kept </dev/null 2>/dev/null
end

# Files and folders that begin with $argv[1]. What no command is completed with is files.
function __@f@_files
    set -l typed (string escape --no-quoted -- $argv[1] | string replace -r '^\\\\~' '~')
    complete -C "__@f@_no_such_command $typed"
end

# Completions of the value $argv[1]; $argv[2] stands before it in its word, $argv[3] is the hostfile.
# Then come fill, list and words.
function __@f@_value
    set -l value $argv[1]
    set -l lead $argv[2]
    set -l hostfile $argv[3]
    set -l found $argv[6..-1]
    if test $argv[5] = list
        string match -qr '\[[^]]*$' -- $value; and return
        if test $argv[4] = networks; and string match -q '^*' -- $value
            set lead $lead^
            set value (string sub -s 2 -- $value)
        end
        set -l items (string match -r '.*,' -- $value)
        set lead "$lead$items"
    end
    switch $argv[4]
        case file hostfile
            set -a found (__@f@_files "$value")
        case folder
            set -a found (__@f@_files "$value" | string match -r '.*/$')
        case hosts
            set -a found (__@f@_hosts "$hostfile")
        case networks
            set -a found (command ls /sys/class/net 2>/dev/null)
        case variable
            set -a found (set -nx)
        case job
            set -a found (__@f@_jobs all)
        case running
            set -a found (__@f@_jobs running)
        case command
            set -a found (__@f@_files "$value")
            # All of $PATH is too much to read.
            if test -n "$value"; and not string match -q '*/*' -- $value
                for file in $PATH/$value*
                    test -f $file -a -x $file; and set -a found (string replace -r '.*/' '' -- $file)
                end
            end
    end
    for item in $found
        printf '%s\n' $lead$item
    end
end

# The options of the command $argv[1]. Where none begins as $argv[2], the same spelled otherwise.
function __@f@_options
    set -l names (__@f@_names $argv[1])
    if string match -qr -- '^'(string escape --style=regex -- $argv[2]) $names
        or test -z '@anydashes@'
        printf '%s\n' $names
        return
    end
    set -l dashes (string match -r '^-*' -- $argv[2])
    string replace -r '^-+' $dashes -- $names
end
)fish";

constexpr std::string_view kFishMain = R"fish(
# How many words behind the option $argv[1] belong to it: takes, the next word.
function __@f@_skip
    set -l attached no
    string match -q '*=*' -- $argv[1]; and set attached yes
    switch $argv[2]/$attached
        case one/no last/no two/yes
            echo 1
        case two/no
            echo 2
        case perhaps/no
            string match -q -- '-*' "$argv[3]"; and echo 0; or echo 1
        case pair/no
            string match -q -- '*=*' "$argv[3]"; and echo 1; or echo 2
        case '*'
            echo 0
    end
end

# The word at the cursor, when it is no value of an option before it: that word, the hostfile, the
# command, its number of operands so far, and the number of words before it.
function __@f@_last_word
    set -l current $argv[1]
    if string match -q -- '-*=*' $current
        set -l option (__@f@_option "$argv[3]" $current)
        test $option[1] = none; and return
        set -l lead (string replace -r '=.*' '=' -- $current)
        __@f@_value (string replace -r '^[^=]*=' '' -- $current) $lead "$argv[2]" $option[2..-1]
        return
    else if string match -q -- '-*' $current
        __@f@_options "$argv[3]" $current
        return
    end
    if test $argv[5] = 1
        for line in @subcommands@
            echo $line
        end
    end
    set -l operand (__@f@_operand "$argv[3]")
    set -l words $argv[5]
    test -n "$argv[3]"; and set words (math $words - 1)
    if test $operand[2] != command -a $argv[4] -gt 0; or test $operand[1] = first -a $words != 1
        set operand anywhere nothing no
    end
    if test $operand[2] = nothing; and not set -q operand[4]
        __@f@_options "$argv[3]" ''
    else
        __@f@_value "$current" '' "$argv[2]" $operand[2..-1]
    end
end

function __@f@_complete
    set -l words (commandline -opc)
    set -l raw (commandline -ct)
    set -l current (string unescape -- $raw; or string replace -ra '^[\'"]' '' -- $raw)
    set -l last (math (count $words) + 1)
    set -l hostfile ''
    set -l command ''
    set -l program ''
    set -l operands 0
    set -l at 2
    if test $last -gt 2; and contains -- $words[2] @commands@
        set command $words[2]
        set at 3
    end
    while test $at -lt $last
        set -l word $words[$at]
        if test -n "$program"
            if test "$word" = :
                set command :
                set program ''
            end
        else if string match -q -- '-?*' $word; and test "$word" != --
            set -l option (__@f@_option "$command" $word)
            set -l next ''
            test $at -lt (count $words); and set next $words[(math $at + 1)]
            test (math $at + 1) = $last; and set next "$current"
            set -l skip (__@f@_skip $word $option[1] "$next")
            if test $option[2] = hostfile
                set hostfile (string replace -r '^[^=]*=' '' -- $word)
                test $skip -gt 0; and set hostfile $next
            end
            if test $skip -gt 0 -a (math $at + $skip) -ge $last
                test (math $at + 1) -lt $last; and return
                __@f@_value "$current" '' "$hostfile" $option[2..-1]
                return
            end
            set at (math $at + $skip)
            test $option[1] = last; and set program none
        else
            set -l operand (__@f@_operand "$command")
            if test $operand[2] != command
                set operands (math $operands + 1)
            else if test "$word" = --
                set program (math $at + 1)
            else
                set program $at
            end
        end
        set at (math $at + 1)
    end
    if test -z "$program"
        __@f@_last_word "$current" "$hostfile" "$command" $operands (math $last - 1)
    else if test $program = $last
        __@f@_value "$current" '' '' command no
    else if test $program = none
        __@f@_files "$current"
    else
        complete -C (string join ' ' -- (string escape -- $words[$program..-1]))" $raw"
    end
end

complete -c @program@ -f -a '(__@f@_complete)'
)fish";

std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') result += '\\';
    result += c;
  }
  return result + "'";
}

// Each line of a table is one word of what the function prints.
std::string lines_of(const std::string& first, const CompletedValue& value) {
  std::string text = fmt::format("            printf '%s\\n' {} {} {}", first,
                                 fill_name(value.fill), value.list ? "list" : "no");
  for (const std::string& word : value.words) text += " " + quoted(word);
  return text + "\n";
}

std::string fish_names(const CompletedCommand& command) {
  std::string text = fmt::format("        case {}\n", quoted(command.name));
  for (const CompletedOption& option : command.options) {
    if (!option.offered) continue;
    for (const std::string& name : option.names) {
      text += fmt::format("            printf '%s\\t%s\\n' {} {}\n", name, quoted(option.help));
    }
  }
  return text;
}

std::string option_cases(const CompletedCommand& command) {
  std::string text;
  for (const CompletedOption& option : command.options) {
    if (option.follows == Follows::kNothing) continue;
    text += "        case";
    for (const std::string& name : option.names) {
      text += " " + quoted(command.name + "/" + plain_option(name));
    }
    text += "\n" + lines_of(std::string(follows_name(option.follows)), option.value);
  }
  return text;
}

}  // namespace

std::string fish_completion(const Completion& completion) {
  std::string names, options, operands;
  std::vector<std::string> commands, explanations;
  for (const CompletedCommand& command : completion.commands) {
    names += fish_names(command);
    options += option_cases(command);
    operands += fmt::format("        case {}\n", quoted(command.name)) +
                lines_of(command.operand_first ? "first" : "anywhere", command.operand);
    if (command.name.empty() || command.name == ":") continue;
    commands.push_back(command.name);
    explanations.push_back(fmt::format("{}\\t{}", command.name, quoted(command.help)));
  }
  const bool jobs = uses(completion, Fill::kJob) || uses(completion, Fill::kRunningJob);
  std::string text(kTables);
  text.append(kFishValues).append(kFishMain);
  return fill_in(text, {{"f", function_name(completion.program)},
                        {"program", completion.program},
                        {"names", names},
                        {"options", options},
                        {"operands", operands},
                        {"commands", join(commands, " ")},
                        {"subcommands", join(explanations, " ")},
                        {"anydashes", completion.any_dashes ? "yes" : ""},
                        {"hosts", uses(completion, Fill::kHosts) ? kHostsAwk : "BEGIN { }"},
                        {"jobs", jobs ? kJobsAwk : "BEGIN { }"}});
}

}  // namespace dtl
