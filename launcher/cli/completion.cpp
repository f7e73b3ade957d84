#include "launcher/cli/completion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "launcher/cli/table.hpp"

namespace dlaunch::launcher {
namespace {

/// Programs that are completed: dlaunch may be called by torchrun's name.
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
    local word=${COMP_WORDS[COMP_CWORD]} option= i at names
    COMPREPLY=()
    if [[ ${COMP_WORDS[1]} == store ]] && ((COMP_CWORD > 1)); then
        if [[ $word == -* ]]; then mapfile -t COMPREPLY < <(compgen -W '--bind -h --help' -- "$word"); fi
        return
    fi
    # Bash splits --name=value into three words.
    for ((i = 1; i < COMP_CWORD; i++)); do
        at=${COMP_WORDS[i]}
        if [[ $at == '=' ]]; then continue; fi
        if [[ -n $option ]]; then option=; continue; fi
        case $at in
            --) ((i++)); _dlaunch_program "$i"; return ;;
            @VALUES@) option=$at ;;
            -*) ;;
            check) if ((i > 1)); then _dlaunch_program "$i"; return; fi ;;
            *) _dlaunch_program "$i"; return ;;
        esac
    done
    if [[ $word == '=' ]]; then word=; fi
    case $option in
        '') ;;
@ARGUMENTS@
        *) return ;;
    esac
    if [[ $word == -* ]]; then
        names='@NAMES@'
        mapfile -t COMPREPLY < <(compgen -W "$names" -- "$word")
    else
        names=
        if ((COMP_CWORD == 1)); then names='@COMMANDS@'; fi
        mapfile -t COMPREPLY < <(compgen -W "$names" -- "$word"; compgen -c -- "$word"; compgen -f -- "$word")
        compopt -o filenames 2>/dev/null
    fi
}

# The program and its arguments: as that program completes them where bash-completion is there, else files.
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

std::string bash() {
    std::string values, names, arguments;
    for (const Option& option : all_options()) {
        names += fmt::format("{}--{}", names.empty() ? "" : " ", option.name);
        if (option.letter) names += fmt::format(" -{}", option.letter);
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
    script = replaced(script, "@COMMANDS@", kCommands);
    return replaced(replaced(script, "@NAMES@", names), "@PROGRAMS@", kPrograms);
}

/// What _arguments completes after an option.
std::string zsh_action(const Option& option) {
    if (takes_file(option)) return "_files";
    if (takes_directory(option)) return "_files -/";
    if (option.choices().empty()) return " ";
    return fmt::format("({})", fmt::join(option.choices(), " "));
}

/// Text within a specification of _arguments: brackets and colons have a meaning there.
std::string zsh_text(std::string_view text) {
    std::string escaped;
    for (char c : text) {
        if (c == '[' || c == ']' || c == ':' || c == '\\') escaped += '\\';
        escaped += c;
    }
    return escaped;
}

/// check has the options of dlaunch, store its own.
constexpr std::string_view kZshHead = R"(#compdef @PROGRAMS@
_dlaunch() {
    local command=
    if (( CURRENT > 2 )) && [[ $words[2] == (check|store) ]]; then
        command=$words[2]
        words=("$words[1]" "${(@)words[3,-1]}")
        (( CURRENT-- ))
    fi
    if [[ $command == store ]]; then
        _arguments -s -S '--bind=[the address to listen on]:ADDR\[\:PORT\]: ' '(-h --help)'{-h,--help}'[a short help]'
        return
    fi
    _arguments -s -S \
)";

std::string zsh() {
    std::string script = replaced(kZshHead, "@PROGRAMS@", kPrograms);
    for (const Option& option : all_options()) {
        std::string argument =
            option.is_switch() ? "" : fmt::format(":{}:{}", zsh_text(option.value), zsh_action(option));
        std::string help = fmt::format("[{}]", zsh_text(option.help));
        std::string joint = option.is_switch() ? "" : "=";
        script += "        " + single_quoted(fmt::format("*--{}{}{}{}", option.name, joint, help, argument)) + " \\\n";
        if (option.letter)
            script +=
                "        " +
                single_quoted(fmt::format("*-{}{}{}{}", option.letter, option.is_switch() ? "" : "+", help, argument)) +
                " \\\n";
    }
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
# True while the program has not been typed: what follows it belongs to it.
function __dlaunch_before_program
    set -l words (commandline -opc)
    set -l value no
    for word in $words[2..-1]
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
            case check  # has the options of dlaunch
            case '*'
                return 1
        end
    end
    return 0
end
function __dlaunch_in_store
    set -l words (commandline -opc)
    test (count $words) -ge 2; and test $words[2] = store
end
)";

constexpr std::string_view kFishCommands =
    R"(complete -c @PROGRAM@ -n 'test (count (commandline -opc)) -eq 1' -a '@COMMANDS@'
complete -c @PROGRAM@ -n __dlaunch_in_store -l bind -x -d 'the address to listen on'
complete -c @PROGRAM@ -n __dlaunch_in_store -s h -l help -d 'a short help'
)";

std::string fish() {
    std::string values, lines;
    for (std::string_view program : {"dlaunch", "torchrun"})
        lines += replaced(replaced(kFishCommands, "@PROGRAM@", program), "@COMMANDS@", kCommands);
    for (const Option& option : all_options()) {
        if (!option.is_switch()) {
            values += fmt::format("{}--{}", values.empty() ? "" : " ", option.name);
            if (option.letter) values += fmt::format(" -{}", option.letter);
        }
        std::string argument;
        if (takes_file(option))
            argument = " -r -F";
        else if (takes_directory(option))
            argument = " -x -a '(__fish_complete_directories)'";
        else if (!option.choices().empty())
            argument = fmt::format(" -x -a '{}'", fmt::join(option.choices(), " "));
        else if (!option.is_switch())
            argument = " -x";
        std::string letter = option.letter ? fmt::format(" -s {}", option.letter) : "";
        for (std::string_view program : {"dlaunch", "torchrun"})
            lines +=
                fmt::format("complete -c {} -n __dlaunch_before_program -l {}{}{} -d {}\n", program, option.name,
                            letter, argument, "'" + replaced(replaced(option.help, "\\", "\\\\"), "'", "\\'") + "'");
    }
    return replaced(kFishHead, "@VALUES@", values) + lines;
}

}  // namespace

std::string completion_script(std::string_view shell) {
    if (shell == "bash") return bash();
    return shell == "zsh" ? zsh() : fish();
}

}  // namespace dlaunch::launcher
