#include "agent/errors/gdb_stack.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <span>

#include "rendezvous/base/text.hpp"

namespace dlaunch::agent {
namespace {

constexpr int kMostFrames = 32;

/// "wait (x=...)" -> "wait": gdb adds a list of arguments to every name.
std::string_view without_arguments(std::string_view function) {
    const std::size_t open = function.rfind(" (");
    return open == std::string_view::npos || !function.ends_with(')') ? function : function.substr(0, open);
}

std::string frame(std::string_view line) {
    line.remove_prefix(std::min(line.find(' '), line.size()));
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    constexpr std::string_view kIn = " in ", kAt = ") at ", kFrom = ") from ";
    if (const std::size_t in = line.find(kIn); line.starts_with("0x") && in != std::string_view::npos)
        line.remove_prefix(in + kIn.size());
    std::size_t place = line.rfind(kAt), length = kAt.size();
    if (place == std::string_view::npos) place = line.rfind(kFrom), length = kFrom.size();
    if (place == std::string_view::npos) return std::string(without_arguments(line));
    return fmt::format("{} ({})", without_arguments(line.substr(0, place + 1)), line.substr(place + length));
}

bool is_at(std::string_view frame, std::span<const std::string_view> places) {
    return std::ranges::any_of(places, [&](std::string_view place) { return frame.find(place) != frame.npos; });
}

/// glibc's files are compiled by relative names. libdlaunch's handler of signals runs above what it interrupts.
bool is_of_libc(std::string_view frame) {
    constexpr std::array<std::string_view, 10> kPlaces{"(../sysdeps/", "(./nptl/",   "(./time/",   "(./posix/",
                                                       "(./io/",       "(./misc/",   "(./socket/", "/libc.so.",
                                                       "/libpthread",  "/libdlaunch"};
    return is_at(frame, kPlaces);
}

/// Templates that pass a call on.
bool is_of_libstdcxx(std::string_view frame) {
    constexpr std::array<std::string_view, 2> kPlaces{"(/usr/include/c++/", "/bits/invoke.h:"};
    return is_at(frame, kPlaces);
}

}  // namespace

std::vector<std::string> gdb_command(int pid) {
    return {"gdb",
            "-nx",
            "-batch",
            "-iex",
            "set auto-load no",
            "-iex",
            "set debuginfod enabled off",
            "-iex",
            "set print thread-events off",
            "-iex",
            "set print frame-arguments none",
            "-iex",
            "set width 0",
            "-p",
            std::to_string(pid),
            "-ex",
            fmt::format("bt {}", kMostFrames)};
}

std::vector<std::string> gdb_frames(std::string_view output) {
    std::vector<std::string> frames;
    for (const std::string_view line : base::split(output, '\n'))
        if (line.starts_with(fmt::format("#{} ", frames.size()))) frames.push_back(frame(line));
    return frames;
}

std::vector<std::string> own_frames(std::vector<std::string> frames) {
    auto own = std::ranges::find_if_not(frames, is_of_libc);
    if (own == frames.end()) return frames;
    if (own != frames.begin()) --own;
    frames.erase(frames.begin(), own);
    std::erase_if(frames, is_of_libstdcxx);
    std::erase_if(frames, [](const std::string& each) { return each.starts_with("??"); });  // without symbols
    return frames;
}

}  // namespace dlaunch::agent
