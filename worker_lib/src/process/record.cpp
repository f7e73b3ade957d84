#include <cxxabi.h>
#include <execinfo.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <typeinfo>

#include <dlaunch/worker.hpp>
#include "worker_lib/src/process/error_record.hpp"

namespace dlaunch {
namespace {

std::string type_name(const std::exception& error) {
    int status = 0;
    const std::unique_ptr<char, void (*)(void*)> name(
        abi::__cxa_demangle(typeid(error).name(), nullptr, nullptr, &status), std::free);
    return name ? name.get() : "exception";
}

void write_record(const std::string& message, const std::string& stack) {
    const char* path = std::getenv("TORCHELASTIC_ERROR_FILE");
    if (!path || !*path) return;
    const auto now =
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
    const std::string text = worker::error_record(message, stack, now);
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file < 0) return;
    for (std::size_t at = 0; at < text.size();) {
        const ssize_t size = write(file, text.data() + at, text.size() - at);
        if (size <= 0) break;
        at += static_cast<std::size_t>(size);
    }
    close(file);
}

// --- fatal signals ---------------------------------------------------------------------------------------------------

constexpr std::array kFatal = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
constexpr std::size_t kStackBytes = 256 << 10;

/// Not all that this calls is allowed in a handler, but the process is lost already; a second signal ends it at once.
void on_fatal(int number, siginfo_t*, void*) {
    for (const int fatal : kFatal) std::signal(fatal, SIG_DFL);
    std::array<void*, 64> frames{};
    const int count = backtrace(frames.data(), static_cast<int>(frames.size()));
    const std::unique_ptr<char*, void (*)(void*)> names(backtrace_symbols(frames.data(), count), std::free);
    std::string stack;
    for (int i = 0; names && i < count; ++i) stack += std::string(names.get()[i]) + "\n";
    const std::string name = std::string("SIG") + sigabbrev_np(number);
    write_record(name + ": " + sigdescr_np(number), stack + name);
    raise(number);
}

void catch_fatal_signals() {
    static char* const stack = new char[kStackBytes];  // for as long as the process lives
    const stack_t own{stack, 0, kStackBytes};
    sigaltstack(&own, nullptr);
    void* first = nullptr;
    backtrace(&first, 1);  // loads what it needs now, not in the handler
    struct sigaction action {};
    action.sa_sigaction = on_fatal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    for (const int number : kFatal) {
        struct sigaction before {};
        sigaction(number, nullptr, &before);
        if (before.sa_handler == SIG_DFL) sigaction(number, &action, nullptr);
    }
}

}  // namespace

int record(const std::function<int()>& main) {
    catch_fatal_signals();
    try {
        return main();
    } catch (const std::exception& error) {
        write_record(type_name(error) + ": " + error.what(), type_name(error) + ": " + error.what());
        std::fprintf(stderr, "%s: %s\n", type_name(error).c_str(), error.what());
    } catch (...) {
        write_record("an exception of unknown type", "an exception of unknown type");
        std::fprintf(stderr, "an exception of unknown type\n");
    }
    return EXIT_FAILURE;
}

int record(int argc, char** argv, int (*main)(int, char**)) {
    return record([=] { return main(argc, argv); });
}

}  // namespace dlaunch
