#include "launcher/cli/completion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "launcher/cli/subcommands.hpp"
#include "launcher/cli/table.hpp"

namespace dlaunch::launcher {
namespace {

/// The names under which dlaunch may be called.
constexpr std::string_view kPrograms = "dlaunch torchrun";

std::string replaced(std::string_view text, std::string_view what, std::string_view with) {
    std::string done;
    for (std::size_t at = 0;;) {
        std::size_t found = text.find(what, at);
        done += text.substr(at, found - at);
        if (found == std::string_view::npos) return done;
        done += with;
        at = found + what.size();
    }
}

std::string single_quoted(std::string_view text) { return "'" + replaced(text, "'", "'\\''") + "'"; }

bool takes_file(const Option& option) { return option.value.starts_with("FILE"); }
bool takes_directory(const Option& option) { return option.value.starts_with("DIR"); }

/// "--redirects|-r": a pattern of the shell's case statement.
std::string case_pattern(const Option& option) {
    return option.letter ? fmt::format("--{}|-{}", option.name, option.letter) : fmt::format("--{}", option.name);
}

constexpr std::string_view kBashScript = R"(# bash completion for dlaunch
_dlaunch() {
    local command= option= later= i at words
    local names='@NAMES@' line=${COMP_LINE:0:COMP_POINT}
    COMPREPLY=()
    # A lone ':' begins another program with its options. Bash splits words at ':', too: look at the line.
    if [[ $line == *' : '* ]]; then
        later=yes names='@CONTEXT_NAMES@' line=${line##* : }
        line=${line//=/ = }
        read -ra words <<<"$line"
        if [[ -z $line || $line == *' ' ]]; then words+=(''); fi
        COMP_LINE="${COMP_WORDS[0]} $line" COMP_WORDS=("${COMP_WORDS[0]}" "${words[@]}")
        COMP_CWORD=${#words[@]} COMP_POINT=${#COMP_LINE}
    fi
    local word=${COMP_WORDS[COMP_CWORD]}
    if ((COMP_CWORD > 1)) && [[ -z $later ]]; then
        case ${COMP_WORDS[1]} in
@SUBCOMMANDS@
        esac
    fi
    # Bash splits --name=value and host:port into three words.
    for ((i = 1; i < COMP_CWORD; i++)); do
        at=${COMP_WORDS[i]}
        if [[ $at == [=:] ]]; then
            if [[ -z $option ]]; then ((i++)); fi
            continue
        fi
        if [[ -n $option ]]; then option=; continue; fi
        case $at in
            --) ((i++)); _dlaunch_program "$i"; return ;;
            @VALUES@) option=$at ;;
            -*) ;;
            check) if ((i > 1)) || [[ -n $later ]]; then _dlaunch_program "$i"; return; fi ;;
            "$command") if ((i > 1)); then return; fi ;;
            *) if [[ -z $command ]]; then _dlaunch_program "$i"; fi; return ;;
        esac
    done
    if [[ $word == '=' ]]; then word=; fi
    if [[ -n $option && $command == store ]]; then return; fi
    case $option in
        '') ;;
@ARGUMENTS@
        *) return ;;
    esac
    if [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$names" -- "$word")
    elif [[ -z $command ]]; then
        names=
        if ((COMP_CWORD == 1)) && [[ -z $later ]]; then names='@COMMANDS@'; fi
        mapfile -t COMPREPLY < <(compgen -W "$names" -- "$word"; compgen -c -- "$word"; compgen -f -- "$word")
        compopt -o filenames 2>/dev/null
    fi
}

# The program and its arguments: by the program's own completion if bash-completion is loaded, else files.
_dlaunch_program() {
    if declare -F _command_offset >/dev/null; then
        _command_offset "$1"
    else
        mapfile -t COMPREPLY < <(compgen -f -- "${COMP_WORDS[COMP_CWORD]}")
        compopt -o filenames 2>/dev/null
    fi
}

complete -F _dlaunch @PROGRAMS@
)";

/// Appends "--redirects -r" to a list.
void add_names(std::string& names, const Option& option) {
    names += fmt::format("{}--{}", names.empty() ? "" : " ", option.name);
    if (option.letter) names += fmt::format(" -{}", option.letter);
}

std::string bash() {
    std::string values, names, context_names, arguments, commands;
    for (const Subcommand& command : subcommands()) {
        std::string its_names;
        for (const Option* option : command.options) add_names(its_names, *option);
        commands += fmt::format("{}            {}) command={} names='{}' ;;", commands.empty() ? "" : "\n",
                                command.name, command.name, its_names);
    }
    for (const Option& option : all_options()) {
        add_names(names, option);
        if (option.of_context) add_names(context_names, option);
        if (option.is_switch()) continue;
        values += (values.empty() ? "" : "|") + case_pattern(option);
        std::string reply;
        if (takes_file(option))
            reply = R"(mapfile -t COMPREPLY < <(compgen -f -- "$word"); compopt -o filenames 2>/dev/null)";
        else if (takes_directory(option))
            reply = R"(mapfile -t COMPREPLY < <(compgen -d -- "$word"); compopt -o filenames 2>/dev/null)";
        else if (!option.choices().empty())
            reply = fmt::format(R"(mapfile -t COMPREPLY < <(compgen -W '{}' -- "$word"))",
                                fmt::join(option.choices(), " "));
        if (!reply.empty())
            arguments +=
                fmt::format("{}        {}) {}; return ;;", arguments.empty() ? "" : "\n", case_pattern(option), reply);
    }
    std::string script = replaced(kBashScript, "@VALUES@", values);
    script = replaced(script, "@ARGUMENTS@", arguments);
    script = replaced(script, "@SUBCOMMANDS@", commands);
    script = replaced(script, "@COMMANDS@", kCommands);
    script = replaced(script, "@CONTEXT_NAMES@", context_names);
    return replaced(replaced(script, "@NAMES@", names), "@PROGRAMS@", kPrograms);
}

/// The completion of an option's value in _arguments.
std::string zsh_action(const Option& option) {
    if (takes_file(option)) return "_files";
    if (takes_directory(option)) return "_files -/";
    if (option.choices().empty()) return " ";
    return fmt::format("({})", fmt::join(option.choices(), " "));
}

/// Escapes brackets and colons for a specification of _arguments.
std::string zsh_text(std::string_view text) {
    std::string escaped;
    for (char c : text) {
        if (c == '[' || c == ']' || c == ':' || c == '\\') escaped += '\\';
        escaped += c;
    }
    return escaped;
}

/// An option's specifications for _arguments, one per line.
std::string zsh_lines(const Option& option) {
    const std::string value =
        option.is_switch() ? "" : fmt::format(":{}:{}", zsh_text(option.value), zsh_action(option));
    const std::string text = fmt::format("[{}]{}", zsh_text(option.help), value);
    const auto line = [](const std::string& specification) {
        return "        " + single_quoted(specification) + " \\\n";
    };
    std::string lines = line(fmt::format("*--{}{}{}", option.name, option.is_switch() ? "" : "=", text));
    if (option.letter) lines += line(fmt::format("*-{}{}{}", option.letter, option.is_switch() ? "" : "+", text));
    return lines;
}

/// check takes the options of dlaunch, other commands their own.
constexpr std::string_view kZshHead = R"(#compdef @PROGRAMS@
_dlaunch() {
    local command=
    # A lone ':' begins another program with its options.
    local -a before=("${(@)words[1,CURRENT-1]}")
    local -i colon=${before[(I):]}
    if (( colon )); then
        words=("$words[1]" "${(@)words[colon+1,-1]}")
        (( CURRENT -= colon - 1 ))
        _arguments -s -S \
@CONTEXT@            '(-)1:program:{ _command_names -e; _files }' '*::argument:_files'
        return
    fi
    if (( CURRENT > 2 )) && [[ $words[2] == (check|@SUBCOMMANDS@) ]]; then
        command=$words[2]
        words=("$words[1]" "${(@)words[3,-1]}")
        (( CURRENT-- ))
    fi
)";

std::string zsh() {
    std::string names, script = replaced(kZshHead, "@PROGRAMS@", kPrograms);
    for (const Subcommand& command : subcommands()) {
        names += fmt::format("{}{}", names.empty() ? "" : "|", command.name);
        script += fmt::format("    if [[ $command == {} ]]; then\n        _arguments -s -S \\\n", command.name);
        for (const Option* option : command.options) script += zsh_lines(*option);
        script += "            && return\n        return 1\n    fi\n";
    }
    script = replaced(script, "@SUBCOMMANDS@", names) + "    _arguments -s -S \\\n";
    std::string of_context;
    for (const Option& option : all_options()) {
        script += zsh_lines(option);
        if (option.of_context) of_context += zsh_lines(option);
    }
    script = replaced(script, "@CONTEXT@", of_context);
    script += fmt::format(
        "        '(-)1:program:{{ [[ CURRENT -eq 2 && -z $command ]] && compadd {}; _command_names -e; _files }}' "
        "'*::argument:_files'\n}}\n",
        kCommands);
    script += fmt::format(
        "if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _dlaunch \"$@\"; else compdef _dlaunch {}; fi\n",
        kPrograms);
    return script;
}

constexpr std::string_view kFishHead = R"(# fish completion for dlaunch
# True while the program has not been typed: the words after it are its arguments. A lone ':' begins another program.
function __dlaunch_before_program
    set -l words (commandline -opc)
    set -e words[1]
    while set -l colon (contains -i -- : $words)
        set -e words[1..$colon]
    end
    set -l value no
    for word in $words
        if test $value = yes
            set value no
            continue
        end
        switch $word
            case --
                return 1
            case '--*=*'
            case @VALUES@
                set value yes
            case '-*'
            case check  # takes the options of dlaunch
            case '*'
                return 1
        end
    end
    return 0
end
function __dlaunch_before_first_program
    not contains -- : (commandline -opc); and __dlaunch_before_program
end
function __dlaunch_in
    set -l words (commandline -opc)
    test (count $words) -ge 2; and test $words[2] = $argv[1]
end
)";

/// The completion of an option's value, for fish's complete.
std::string fish_argument(const Option& option) {
    if (takes_file(option)) return " -r -F";
    if (takes_directory(option)) return " -x -a '(__fish_complete_directories)'";
    if (!option.choices().empty()) return fmt::format(" -x -a '{}'", fmt::join(option.choices(), " "));
    return option.is_switch() ? "" : " -x";
}

std::string fish_line(std::string_view program, std::string_view condition, const Option& option) {
    return fmt::format("complete -c {} -n {} -l {}{}{} -d '{}'\n", program, condition, option.name,
                       option.letter ? fmt::format(" -s {}", option.letter) : "", fish_argument(option),
                       replaced(replaced(option.help, "\\", "\\\\"), "'", "\\'"));
}

std::string fish() {
    std::string values, lines;
    for (const Option& option : all_options())
        if (!option.is_switch()) add_names(values, option);
    for (std::string_view program : {"dlaunch", "torchrun"}) {
        lines += fmt::format("complete -c {} -n 'test (count (commandline -opc)) -eq 1' -a '{}'\n", program, kCommands);
        for (const Subcommand& command : subcommands())
            for (const Option* option : command.options)
                lines += fish_line(program, fmt::format("'__dlaunch_in {}'", command.name), *option);
        for (const Option& option : all_options())
            lines += fish_line(
                program, option.of_context ? "__dlaunch_before_program" : "__dlaunch_before_first_program", option);
    }
    return replaced(kFishHead, "@VALUES@", values) + lines;
}

}  // namespace

std::string completion_script(std::string_view shell) {
    if (shell == "bash") return bash();
    return shell == "zsh" ? zsh() : fish();
}

}  // namespace dlaunch::launcher
