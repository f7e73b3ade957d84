/// Two workers that measure the time from the exit of one to the SIGTERM of the other.
///
///     exit_probe FOLDER        FOLDER holds a fifo `ready`
///
/// Rank 1 writes the time to FOLDER/died and exits with 3. Rank 0 writes the time of its SIGTERM to FOLDER/stopped, or
/// exits after five seconds without one. Times are CLOCK_MONOTONIC in nanoseconds.

#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

static long long now_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

static void note(const std::string& path, long long time_ns) {
    if (std::FILE* file = std::fopen(path.c_str(), "w")) {
        std::fprintf(file, "%lld\n", time_ns);
        std::fclose(file);
    }
}

static int await_stop(const std::string& folder) {
    sigset_t stop;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTERM);
    sigprocmask(SIG_BLOCK, &stop, nullptr);
    if (open((folder + "/ready").c_str(), O_WRONLY | O_CLOEXEC) < 0) return 1;  // returns when rank 1 opens it too
    timespec patience{5, 0};
    if (sigtimedwait(&stop, nullptr, &patience) == SIGTERM) note(folder + "/stopped", now_ns());
    return 0;
}

static int die(const std::string& folder) {
    if (open((folder + "/ready").c_str(), O_RDONLY | O_CLOEXEC) < 0) return 1;
    timespec settle{0, 200'000'000};  // lets the launcher become idle before this worker exits
    nanosleep(&settle, nullptr);
    note(folder + "/died", now_ns());
    _exit(3);
}

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: exit_probe FOLDER\n");
        return 2;
    }
    const char* rank = std::getenv("RANK");
    if (!rank) rank = std::getenv("PMI_RANK");  // under an MPI launcher
    return rank && std::string(rank) == "1" ? die(argv[1]) : await_stop(argv[1]);
}
