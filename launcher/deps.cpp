#include "launcher/deps.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <future>
#include <iterator>
#include <memory>
#include <system_error>
#include <thread>

#include "agent/binding/devices.hpp"
#include "agent/logs/console.hpp"
#include "agent/process/spawn.hpp"
#include "launcher/cli/split.hpp"
#include "launcher/cli/values.hpp"
#include "launcher/mpi/local_files.hpp"
#include "launcher/mpi/look_up.hpp"
#include "launcher/mpi/shell_script.hpp"
#include "launcher/token_variable.hpp"
#include "rendezvous/auth/hidden_memory.hpp"
#include "rendezvous/auth/openssl.hpp"
#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/files.hpp"
#include "rendezvous/base/host.hpp"
#include "rendezvous/base/random.hpp"
#include "rendezvous/base/signals_blocked.hpp"
#include "rendezvous/net/addresses.hpp"

namespace dlaunch::launcher {
namespace {

using base::Error;
using base::Result;

constexpr std::size_t kMostConfigBytes = 1 << 20;

constexpr auto kAnswerSoon = std::chrono::seconds(1);
constexpr int kWriterMs = 1000;  // time for a FIFO's writer to open it

/// Waits only kWriterMs for a writer to open the FIFO, then reads as long as it writes.
Result<std::string> read_pipe(int fd) {
    pollfd what{fd, POLLIN, 0};
    std::string first(1, 0);
    ssize_t got = -1;
    if (::poll(&what, 1, kWriterMs) == 0 && (got = ::read(fd, first.data(), 1)) == 0)
        return Error{"it is a FIFO without a writer"};
    ::fcntl(fd, F_SETFL, 0);
    auto text = base::read_all(fd, kMostConfigBytes);
    if (text && got == 1) text->insert(0, first);
    return text;
}

Result<std::string> read_file(const std::string& path) {
    base::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (!file) return Error{std::strerror(errno)};
    struct stat about {};
    if (::fstat(file.get(), &about) == 0 && S_ISFIFO(about.st_mode)) return read_pipe(file.get());
    ::fcntl(file.get(), F_SETFL, 0);
    return base::read_all(file.get(), kMostConfigBytes);
}

std::int64_t most_processes() {
    constexpr std::int64_t kKernelsMost = 4'194'304;
    auto text = read_file("/proc/sys/kernel/pid_max");
    return text ? whole_number(*text, 1, kKernelsMost).value_or(kKernelsMost) : kKernelsMost;
}

/// Where the kernel refuses, as outside of the step's cpuset, the process keeps its cores.
int use_cores(const std::vector<int>& cores) {
    const std::vector<unsigned long> mask = agent::affinity_mask(cores);
    ::syscall(SYS_sched_setaffinity, 0, mask.size() * sizeof mask.front(), mask.data());
    return base::usable_cores();
}

/// A random UUID, version 4.
std::string fresh_id() {
    const std::array<std::uint64_t, 2> bits{base::random_number(), base::random_number()};
    std::array<unsigned char, 16> b;
    std::memcpy(b.data(), bits.data(), b.size());
    b[6] = static_cast<unsigned char>((b[6] & 0x0fU) | 0x40U);
    b[8] = static_cast<unsigned char>((b[8] & 0x3fU) | 0x80U);
    std::string text;
    for (std::size_t i = 0; i < b.size(); ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
        fmt::format_to(std::back_inserter(text), "{:02x}", b[i]);
    }
    return text;
}

Result<auth::TokenPtr> read_token(const std::string& path) {
    auth::hide_memory();
    return auth::read_token(path);
}

Result<auth::TokenPtr> fresh_token() {
    auth::hide_memory();
    if (const auto loaded = auth::OpenSsl::load(); !loaded) return loaded.error();
    return auth::random_token();
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

/// The same with a time limit. If the file system does not respond, the job starts, and a file that cannot be written
/// is reported at its end.
std::string why_not_writable_soon(const std::string& path) {
    const auto checked = std::make_shared<std::promise<std::string>>();
    auto reason = checked->get_future();
    const base::SignalsBlocked for_the_new_thread;
    try {
        std::thread([checked, path] { checked->set_value(why_not_writable(path)); }).detach();
    } catch (const std::system_error&) {  // no more threads
        return why_not_writable(path);
    }
    return reason.wait_for(kAnswerSoon) == std::future_status::ready ? reason.get() : "";
}

/// Whether execve(2) would refuse the file's format. False if unreadable: execute permission suffices.
bool is_plain_text(const std::string& path) {
    base::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    std::array<char, 4> head{};
    if (!file || ::read(file.get(), head.data(), head.size()) < 0) return false;
    const std::string_view begin(head.data(), head.size());
    return !begin.starts_with("#!") && begin != "\177ELF";
}

bool is_no_program(const std::string& path) {
    struct stat about {};
    if (::stat(path.c_str(), &about) != 0) return false;
    if (S_ISDIR(about.st_mode) || (about.st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)) == 0) return true;
    return S_ISREG(about.st_mode) && is_plain_text(path);
}

/// A name without a slash came from PATH. Links are not followed, because an environment's `bin/torchrun` may be one.
std::filesystem::path folder_of(const std::string& called, const agent::Host& host) {
    namespace fs = std::filesystem;
    std::error_code failed;
    if (called.find('/') != std::string::npos) return fs::absolute(called, failed).lexically_normal().parent_path();
    const std::string path = host.variable("PATH").value_or("");
    for (std::string_view folder : split(path, ':'))
        if (!called.empty() && ::access((fs::path(folder) / called).c_str(), X_OK) == 0)
            return fs::absolute(folder, failed);
    return {};
}

std::string python_beside(const std::string& called, const agent::Host& host) {
    namespace fs = std::filesystem;
    std::error_code failed;
    const fs::path bin = folder_of(called, host), python = bin / "python";
    if (bin.empty() || ::access(python.c_str(), X_OK) != 0) return {};
    const fs::path home = bin.parent_path();
    const bool is_environment =
        fs::exists(home / "pyvenv.cfg", failed) || fs::is_directory(home / "conda-meta", failed);
    return is_environment ? python.string() : std::string();
}

/// $PWD keeps the name of a link, which getcwd(2) follows.
std::string current_folder(const agent::Host& host) {
    namespace fs = std::filesystem;
    std::error_code failed;
    const std::string named = host.variable("PWD").value_or("");
    if (named.starts_with('/') && fs::equivalent(named, ".", failed)) return named;
    return fs::current_path(failed).string();
}

}  // namespace

Deps deps_of_this_process() {
    Deps now;
    now.host = {base::host_name(), base::usable_cores(), base::environment()};
    now.devices = [](agent::Vendor vendor, const agent::VariableLookup& variable) {
        return agent::DeviceFinder().visible(vendor, variable);
    };
    now.most_processes = most_processes;
    now.topology = agent::discover_topology;
    now.use_cores = use_cores;
    now.fresh_id = fresh_id;
    now.address_of_interface = rendezvous::address_of_interface;
    now.read_file = read_file;
    now.read_token = read_token;
    now.fresh_token = fresh_token;
    now.token_variable = token_variable();
    now.python_beside = [host = now.host](const std::string& called) { return python_beside(called, host); };
    now.why_not_writable = why_not_writable_soon;
    now.linked_with = [](const ProgramFiles& files) { return look_up(files); };
    now.shell_script = shell_script;
    now.presence = [files = std::make_shared<LocalFiles>()](const std::string& path) {
        if (files->open(path)) return Presence::there;
        return errno == ENOENT && !files->met_foreign() ? Presence::missing : Presence::unknown;
    };
    now.current_folder = [host = now.host] { return current_folder(host); };
    now.is_no_program = is_no_program;
    now.console_is_terminal = [] {
        return isatty(STDOUT_FILENO) == 1 && agent::Console::same(STDOUT_FILENO, STDERR_FILENO);
    };
    now.has_input = [] {
        struct stat input {};
        if (::fstat(STDIN_FILENO, &input) != 0) return false;
        if (S_ISREG(input.st_mode)) return input.st_size > 0 && ::lseek(STDIN_FILENO, 0, SEEK_CUR) == 0;
        int bytes = 0;
        return S_ISFIFO(input.st_mode) && ::ioctl(STDIN_FILENO, FIONREAD, &bytes) == 0 && bytes > 0;
    };
    return now;
}

}  // namespace dlaunch::launcher
