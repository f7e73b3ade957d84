#include "agent/mpi/pmi1_request.hpp"

#include <charconv>

namespace dlaunch::agent {

std::optional<Pmi1Request> Pmi1Request::parse(std::string_view line) {
    Pmi1Request request;
    for (;;) {
        const std::size_t begin = line.find_first_not_of(' ');
        if (begin == std::string_view::npos) break;
        line.remove_prefix(begin);
        const std::string_view word = line.substr(0, line.find(' '));
        line.remove_prefix(word.size());
        const std::size_t equals = word.find('=');
        if (equals == std::string_view::npos || equals == 0) {
            // A message of an abort is free text.
            if (request.command_ == "abort") break;
            if (!request.command_.ends_with("_name")) return std::nullopt;
            std::string_view& value = request.words_.back().second;
            value = {value.data(), static_cast<std::size_t>(word.data() + word.size() - value.data())};
            continue;
        }
        const std::string_view name = word.substr(0, equals);
        if (request.command_.empty() && name == "cmd") request.command_ = word.substr(equals + 1);
        if (request.command_.empty() && name == "mcmd") request.command_ = name;
        request.words_.emplace_back(name, word.substr(equals + 1));
    }
    if (request.command_.empty()) return std::nullopt;
    return request;
}

std::optional<std::string_view> Pmi1Request::value(std::string_view name) const {
    for (const auto& [known, value] : words_)
        if (known == name) return value;
    return std::nullopt;
}

std::optional<int> pmi1_number(std::optional<std::string_view> text) {
    int number = 0;
    if (!text) return std::nullopt;
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
    if (error != std::errc{} || end != text->data() + text->size()) return std::nullopt;
    return number;
}

}  // namespace dlaunch::agent
