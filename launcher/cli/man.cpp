#include "launcher/cli/man.hpp"

#include <fmt/format.h>

#include "launcher/cli/split.hpp"
#include "launcher/cli/table.hpp"

namespace dlaunch::launcher {
namespace {

/// Escapes text for roff.
std::string roff(std::string_view text) {
    std::string escaped;
    for (char c : text) {
        if (c == '\\')
            escaped += "\\e";
        else if (c == '-')
            escaped += "\\-";
        else if (c == '\'')
            escaped += "\\(aq";
        else
            escaped += c;
    }
    return escaped;
}

/// Fills lines of at most 80 bytes, and escapes a leading dot.
std::string filled(std::string_view text) {
    constexpr std::size_t kMost = 80;
    std::string lines, line;
    auto finish = [&] {
        if (line.starts_with('.')) lines += "\\&";
        lines += line + "\n";
        line.clear();
    };
    for (std::string_view word : split(text, ' ')) {
        if (!line.empty() && line.size() + 1 + word.size() > kMost) finish();
        if (!line.empty()) line += ' ';
        line += word;
    }
    finish();
    return lines;
}

std::string heading(const Option& option) {
    std::string letter = option.letter ? fmt::format("\\fB\\-{}\\fR, ", option.letter) : "";
    std::string value = option.is_switch() ? "" : fmt::format(" \\fI{}\\fR", roff(option.value));
    return fmt::format("{}\\fB\\-\\-{}\\fR{}", letter, roff(option.name), value);
}

std::string capitalised(std::string_view text) {
    std::string sentence(text);
    if (!sentence.empty() && sentence[0] >= 'a' && sentence[0] <= 'z')
        sentence[0] = static_cast<char>(sentence[0] - 'a' + 'A');
    return sentence;
}

}  // namespace

std::string man_options() {
    std::string text;
    const Option* before = nullptr;
    for (const Option& option : all_options()) {
        if (!before || before->group != option.group) text += fmt::format(".SS {}\n", title(option.group));
        text += fmt::format(".TP\n{}\n{}", heading(option), filled(roff(capitalised(option.help)) + "."));
        if (!option.fallback.empty()) text += filled(fmt::format("Default: {}.", roff(option.fallback)));
        before = &option;
    }
    return text;
}

std::string man_variables() {
    std::string text;
    for (const Option& option : all_options()) {
        auto names = option.variables();
        if (names.empty()) continue;
        std::string list;
        for (const std::string& name : names)
            list += fmt::format("{}{}",
                                list.empty()                     ? ""
                                : list.size() + name.size() < 80 ? ", "
                                                                 : ",\n.TQ\n.B ",
                                name);
        text += fmt::format(".TP\n.B {}\nFor \\fB\\-\\-{}\\fR.\n", list, roff(option.name));
    }
    return text;
}

}  // namespace dlaunch::launcher
