/// A worker that measures the time from the death of one worker until all workers run again.
///
///     restart_probe FOLDER
///
/// Writes the time of its start to FOLDER/began.<rank>. The last rank waits until all have started and the launchers
/// are idle, writes the time to FOLDER/died and kills itself with SIGKILL; the other ranks wait to be stopped. If
/// FOLDER/died exists at the start, the worker writes the time to FOLDER/again.<rank> and exits with 0. (The restart
/// count cannot be used: torchrun's nodes disagree on it.) Times are CLOCK_MONOTONIC in nanoseconds.

#include <signal.h>
#include <unistd.h>

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
    if (std::FILE* file = std::fopen((path + ".part").c_str(), "w")) {
        std::fprintf(file, "%lld\n", time_ns);
        std::fclose(file);
        std::rename((path + ".part").c_str(), path.c_str());
    }
}

static void rest(long ms) {
    timespec time{ms / 1000, ms % 1000 * 1'000'000};
    nanosleep(&time, nullptr);
}

static int variable(const char* name) {
    const char* value = std::getenv(name);
    return value ? std::atoi(value) : 0;
}

int main(int argc, char** argv) {
    const long long now = now_ns();
    if (argc != 2) {
        std::fprintf(stderr, "usage: restart_probe FOLDER\n");
        return 2;
    }
    const int rank = variable("RANK"), world = variable("WORLD_SIZE");
    const std::string folder = std::string(argv[1]) + "/", died = folder + "died", began = folder + "began.";
    if (access(died.c_str(), F_OK) == 0) {
        note(folder + "again." + std::to_string(rank), now);
        return 0;
    }
    note(began + std::to_string(rank), now);
    if (rank != world - 1) {
        for (;;) pause();
    }
    for (int other = 0; other < world; ++other)
        while (access((began + std::to_string(other)).c_str(), F_OK) != 0) rest(1);
    rest(500);
    note(died, now_ns());
    raise(SIGKILL);
}
