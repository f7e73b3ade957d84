#include "launcher/mpi/python_program.hpp"

#include <cctype>
#include <cstddef>

#include "rendezvous/base/text.hpp"

namespace dlaunch::launcher {
namespace {

constexpr std::string_view kModule = "mpi4py";

bool is_named_python(std::string_view path) {
    std::string_view name = path.substr(path.rfind('/') + 1);
    constexpr std::string_view kPython = "python";
    if (!name.starts_with(kPython)) return false;
    return name.find_first_not_of("0123456789.", kPython.size()) == std::string_view::npos;
}

bool is_of_a_name(char letter) { return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_'; }

/// "mpi4py", "mpi4py.MPI"
bool is_mpi4py(std::string_view module) {
    return module.starts_with(kModule) && (module.size() == kModule.size() || !is_of_a_name(module[kModule.size()]));
}

/// "import mpi4py.MPI" has the argument "mpi4py.MPI" for "import"; empty: it is another statement.
std::string_view argument_of(std::string_view keyword, std::string_view statement) {
    if (!statement.starts_with(keyword)) return {};
    const std::string_view rest = statement.substr(keyword.size());
    return rest.starts_with(' ') || rest.starts_with('\t') ? base::trimmed(rest) : std::string_view();
}

bool statement_imports(std::string_view statement) {
    if (is_mpi4py(argument_of("from", statement))) return true;
    for (const std::string_view module : base::split(argument_of("import", statement), ','))
        if (is_mpi4py(base::trimmed(module))) return true;
    return false;
}

bool line_imports(std::string_view line) {
    for (const std::string_view statement : base::split(line.substr(0, line.find('#')), ';'))
        if (statement_imports(base::trimmed(statement))) return true;
    return false;
}

}  // namespace

std::optional<PythonProgram> python_program(const std::vector<std::string>& command) {
    if (command.empty() || !is_named_python(command.front())) return std::nullopt;
    for (std::size_t at = 1; at < command.size(); ++at) {
        const std::string& word = command[at];
        if (word == "-" || word == "--") return std::nullopt;
        if (!word.starts_with('-')) return PythonProgram{word, {}, {}};
        if (word.starts_with("--")) continue;
        // Flags may stand together before one that takes the rest of the word, or else the next word: -um MODULE
        const std::size_t flag = word.find_first_of("mcWX", 1);
        if (flag == std::string::npos) continue;
        std::string value = word.substr(flag + 1);
        if (value.empty() && ++at == command.size()) return std::nullopt;
        if (value.empty()) value = command[at];
        if (word[flag] == 'm') return PythonProgram{{}, value, {}};
        if (word[flag] == 'c') return PythonProgram{{}, {}, value};
    }
    return std::nullopt;
}

Import imports_mpi4py(std::string_view code) {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (code.starts_with(kByteOrderMark)) code.remove_prefix(kByteOrderMark.size());
    Import found = Import::none;
    for (const std::string_view line : base::split(code, '\n')) {
        if (!line_imports(line)) continue;
        if (!line.starts_with(' ') && !line.starts_with('\t')) return Import::certain;
        found = Import::possible;
    }
    return found;
}

}  // namespace dlaunch::launcher
