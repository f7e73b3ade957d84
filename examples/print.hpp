#pragma once
// Output of the examples. Each line is a single write, so that lines of different processes never mix.

#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <ranges>
#include <span>
#include <sstream>
#include <string>

/// print("rank ", rank, ": ", value) prints the concatenated arguments as a line.
template <class... Parts>
void print(const Parts&... parts) {
    std::ostringstream line;
    line.precision(7);
    (line << ... << parts) << '\n';
    const std::string text = line.str();
    if (write(STDOUT_FILENO, text.data(), text.size()) < 0) std::perror("stdout");
}

/// "[1, 2, 3]"
template <std::ranges::input_range Range>
std::string list(const Range& values) {
    std::ostringstream text;
    text.precision(7);
    for (const char* comma = ""; const auto& value : values) {
        text << comma << value;
        comma = ", ";
    }
    return "[" + text.str() + "]";
}

/// "[[1, 2], [3, 4]]": the same elements in rows of `columns`.
template <std::ranges::contiguous_range Range>
std::string rows(const Range& values, std::size_t columns) {
    std::string text;
    for (std::size_t at = 0; at < std::size(values); at += columns)
        text += (at == 0 ? "" : ", ") + list(std::span(std::data(values) + at, columns));
    return "[" + text + "]";
}
