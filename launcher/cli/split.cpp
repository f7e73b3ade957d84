#include "launcher/cli/split.hpp"

namespace dlaunch::launcher {
namespace {

constexpr std::string_view kBlanks = " \t\n\r\f\v";

}  // namespace

std::vector<std::string> comma_list(std::string_view text) {
    std::vector<std::string> parts;
    std::string part;
    auto finish = [&] {
        if (!part.empty()) parts.push_back(std::move(part));
        part.clear();
    };
    for (std::size_t i = 0; i < text.size(); ++i) {
        bool doubled = text[i] == ',' && i + 1 < text.size() && text[i + 1] == ',';
        if (text[i] != ',' || doubled)
            part += text[i];
        else
            finish();
        if (doubled) ++i;
    }
    finish();
    return parts;
}

base::Result<std::vector<std::string>> shell_words(std::string_view text) {
    std::vector<std::string> words;
    std::string word;
    bool in_word = false;  // "" is a word too
    char quote = '\0';
    for (std::size_t i = 0; i < text.size(); ++i) {
        char c = text[i];
        bool blank = kBlanks.find(c) != std::string_view::npos;
        if (quote == '\0' && blank) {
            if (in_word) words.push_back(std::move(word));
            word.clear();
            in_word = false;
            continue;
        }
        in_word = true;
        if (quote == '\0' && (c == '\'' || c == '"')) {
            quote = c;
        } else if (c == quote) {
            quote = '\0';
        } else if (c == '\\' && quote != '\'') {
            if (i + 1 == text.size()) return base::Error{"expected a character after the last backslash"};
            char next = text[++i];
            // Between double quotes a backslash escapes only these characters.
            if (quote == '"' && std::string_view("\"\\$`").find(next) == std::string_view::npos) word += c;
            word += next;
        } else {
            word += c;
        }
    }
    if (quote != '\0') return base::Error{std::string("expected a closing ") + quote};
    if (in_word) words.push_back(std::move(word));
    return words;
}

}  // namespace dlaunch::launcher
