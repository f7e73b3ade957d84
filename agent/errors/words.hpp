#pragma once

#include <algorithm>
#include <initializer_list>
#include <string_view>

namespace dlaunch::agent {

/// Whether one of the words is in the text.
[[nodiscard]] inline bool has_any(std::string_view text, std::initializer_list<std::string_view> words) {
    return std::any_of(words.begin(), words.end(),
                       [text](std::string_view word) { return text.find(word) != std::string_view::npos; });
}

}  // namespace dlaunch::agent
