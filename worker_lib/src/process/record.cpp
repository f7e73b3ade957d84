#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <memory>
#include <string>
#include <typeinfo>

#include <dlaunch/worker.hpp>
#include "worker_lib/src/process/error_record.hpp"
#include "worker_lib/src/process/standard_output.hpp"

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
constexpr std::size_t kMostFrames = 64, kMostOfName = 200;  // C++ has names of any length
constexpr int kRecordTimeoutMs = 5000;

/// A text buffer for signal handlers: statically allocated, because the heap may be corrupt.
class FixedText {
public:
    void add(const char* text) {
        const std::size_t end = std::min(text_.size(), size_ + kMostOfName);
        for (; text && *text && size_ < end; ++text)  // '?' replaces characters that JSON would escape
            text_[size_++] = *text == '"' || *text == '\\' || static_cast<unsigned char>(*text) < 0x20 ? '?' : *text;
    }
    void add_json(const char* text) {
        for (; *text && size_ < text_.size(); ++text) text_[size_++] = *text;
    }
    void add(std::uintptr_t number, unsigned base) {
        std::array<char, 24> digits{};
        std::size_t at = digits.size() - 1;
        do digits[--at] = "0123456789abcdef"[number % base];
        while ((number /= base) > 0);
        add(&digits[at]);
    }
    void write_to(int file) const {
        for (std::size_t at = 0; at < size_;) {
            const ssize_t count = write(file, text_.data() + at, size_ - at);
            if (count <= 0) return;
            at += static_cast<std::size_t>(count);
        }
    }

private:
    // Per frame two names, an offset and separators; plus the surrounding JSON.
    std::array<char, kMostFrames*(2 * kMostOfName + 32) + 1024> text_{};
    std::size_t size_ = 0;
};

FixedText fatal_text;
std::array<char, 4096> fatal_path;  // of the error file; empty: none
std::terminate_handler previous_terminate = nullptr;

std::atomic<int> recording_thread{0};  // the first thread that failed
bool is_recorded = false;              // used by that thread only

/// Several threads often fail at the same moment. The first one writes the record; later ones wait here until it has
/// ended the process. The wait is bounded, because a waiting thread may hold a lock (the heap's) that the writer needs.
void wait_for_recording_thread() {
    int first = 0;
    if (!recording_thread.compare_exchange_strong(first, gettid()) && first != gettid())
        poll(nullptr, 0, kRecordTimeoutMs);
}

void write_fatal(int number) {
    const int file = fatal_path[0] ? open(fatal_path.data(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644) : -1;
    if (file >= 0) {
        std::array<void*, kMostFrames> frames{};
        const int count = backtrace(frames.data(), static_cast<int>(frames.size()));
        fatal_text.add_json(R"({"message": {"message": "SIG)");
        fatal_text.add(sigabbrev_np(number));
        fatal_text.add(": ");
        fatal_text.add(sigdescr_np(number));
        fatal_text.add_json(R"(", "extraInfo": {"py_callstack": ")");
        for (int i = 0; i < count; ++i) {
            const auto address = reinterpret_cast<std::uintptr_t>(frames[static_cast<std::size_t>(i)]);
            Dl_info info{};
            const bool known = dladdr(frames[static_cast<std::size_t>(i)], &info) != 0;
            fatal_text.add(known ? info.dli_fname : "?");
            fatal_text.add(known && info.dli_sname ? " " : "");
            fatal_text.add(known ? info.dli_sname : nullptr);
            fatal_text.add(" +0x");
            fatal_text.add(address - reinterpret_cast<std::uintptr_t>(
                                         known ? (info.dli_saddr ? info.dli_saddr : info.dli_fbase) : nullptr),
                           16);
            fatal_text.add_json("\\n");
        }
        fatal_text.add_json(R"(", "timestamp": ")");
        fatal_text.add(static_cast<std::uintptr_t>(time(nullptr)), 10);
        fatal_text.add_json("\"}}}\n");
        fatal_text.write_to(file);
        close(file);
    }
}

void on_fatal(int number, siginfo_t*, void*) {
    wait_for_recording_thread();
    if (recording_thread == gettid() && !is_recorded) {
        is_recorded = true;
        write_fatal(number);
    }
    for (const int fatal : kFatal) std::signal(fatal, SIG_DFL);
    raise(number);
}

/// Records an uncaught exception: its text is more informative than the SIGABRT that follows.
void on_terminate() {
    wait_for_recording_thread();
    try {
        if (const std::exception_ptr thrown = std::current_exception()) std::rethrow_exception(thrown);
    } catch (const std::exception& error) {
        const std::string text = type_name(error) + ": " + error.what();
        if (recording_thread == gettid() && !is_recorded) {
            write_record(text, text);
            is_recorded = true;
        }
    } catch (...) {
        // An exception without a text: the signal handler writes the record.
    }
    previous_terminate();
}

void catch_fatal_signals() {
    static char* const stack = new char[kStackBytes];  // never freed: signals may arrive until the process ends
    const stack_t own{stack, 0, kStackBytes};
    sigaltstack(&own, nullptr);
    worker::renew_error_file();
    void* first = nullptr;
    backtrace(&first, 1);  // loads libgcc now; dlopen in a signal handler is unsafe
    if (std::get_terminate() != on_terminate) previous_terminate = std::set_terminate(on_terminate);
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

void worker::renew_error_file() {
    if (const char* path = std::getenv("TORCHELASTIC_ERROR_FILE"); path && std::strlen(path) < fatal_path.size())
        std::strcpy(fatal_path.data(), path);
}

int record(const std::function<int()>& main) {
    catch_fatal_signals();
    worker::write_stdout_by_lines();
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
