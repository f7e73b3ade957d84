#include "launcher/surroundings.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <iterator>

#include "launcher/cli/values.hpp"
#include "launcher/cli/words.hpp"
#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/host.hpp"

namespace dlaunch::launcher {
namespace {

using base::Error;
using base::Result;

constexpr std::size_t kMostConfigBytes = 1 << 20;

Result<std::string> read_file(const std::string& path) {
    base::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return Error{std::strerror(errno)};
    std::string text;
    std::array<char, 16384> buffer;
    for (;;) {
        ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return Error{std::strerror(errno)};
        if (got == 0) return text_result(std::move(text));
        text.append(buffer.data(), static_cast<std::size_t>(got));
        if (text.size() > kMostConfigBytes) return Error{"larger than 1 MiB"};
    }
}

std::int64_t most_processes() {
    constexpr std::int64_t kKernelsMost = 4'194'304;
    auto text = read_file("/proc/sys/kernel/pid_max");
    return text ? whole_number(*text, 1, kKernelsMost).value_or(kKernelsMost) : kKernelsMost;
}

/// A random UUID, version 4.
std::string fresh_id() {
    std::array<unsigned char, 16> b{};
    if (::getrandom(b.data(), b.size(), 0) != static_cast<ssize_t>(b.size())) {  // before the kernel has entropy
        timespec now{};
        ::clock_gettime(CLOCK_REALTIME, &now);
        std::memcpy(b.data(), &now, b.size());
    }
    b[6] = static_cast<unsigned char>((b[6] & 0x0fU) | 0x40U);
    b[8] = static_cast<unsigned char>((b[8] & 0x3fU) | 0x80U);
    std::string text;
    for (std::size_t i = 0; i < b.size(); ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
        fmt::format_to(std::back_inserter(text), "{:02x}", b[i]);
    }
    return text;
}

std::string why_not_writable(const std::string& path) {
    struct stat about {};
    if (::stat(path.c_str(), &about) == 0) {
        if (S_ISDIR(about.st_mode)) return "it is a directory";
        return ::access(path.c_str(), W_OK) == 0 ? "" : std::strerror(errno);
    }
    std::size_t slash = path.rfind('/');
    std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
    if (::access(folder.c_str(), W_OK | X_OK) != 0) return fmt::format("{}: {}", folder, std::strerror(errno));
    if (::stat(folder.c_str(), &about) == 0 && !S_ISDIR(about.st_mode))
        return fmt::format("{}: {}", folder, std::strerror(ENOTDIR));
    return "";
}

bool is_no_program(const std::string& path) {
    struct stat about {};
    if (::stat(path.c_str(), &about) != 0) return false;
    return S_ISDIR(about.st_mode) || (about.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)) == 0;
}

}  // namespace

std::optional<std::string> Surroundings::variable(std::string_view name) const {
    for (const auto& [known, value] : environment)
        if (known == name) return value;
    return std::nullopt;
}

std::optional<std::string> Surroundings::set_variable(std::string_view name) const {
    auto value = variable(name);
    return value && !value->empty() ? value : std::nullopt;
}

Surroundings surroundings_of_this_process() {
    Surroundings now;
    now.environment = base::environment();
    now.host = base::host_name();
    now.usable_cores = base::usable_cores();
    now.count_gpus = [](std::optional<std::string> visible) { return agent::count_gpus(std::move(visible)); };
    now.most_processes = most_processes;
    now.topology = [] { return agent::discover_topology(); };
    now.fresh_id = fresh_id;
    now.read_file = read_file;
    now.why_not_writable = why_not_writable;
    now.is_no_program = is_no_program;
    return now;
}

}  // namespace dlaunch::launcher
