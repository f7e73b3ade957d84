// A command line, one word per line: any words are settings and a program, or are refused with a reason.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "launcher/cli/parse.hpp"
#include "rendezvous/base/text.hpp"

namespace l = dlaunch::launcher;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    std::vector<std::string> words;
    for (std::string_view word : dlaunch::base::split(text, '\n')) words.emplace_back(word);
    const auto line = l::normalize(words);
    if (!line) return line.error().text.empty() ? std::abort(), 0 : 0;
    const auto settings = l::parse(line->options);
    if (!settings && settings.error().text.empty()) std::abort();
    // The program's words are the last ones, byte for byte.
    if (line->program.size() > words.size()) std::abort();
    if (!std::equal(line->program.rbegin(), line->program.rend(), words.rbegin())) std::abort();
    return 0;
}
