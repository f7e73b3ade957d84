/// A worker that measures how soon all workers run again after one of them died.
///
///     restart_probe FOLDER
///
/// Notes the time at which it runs in FOLDER/began.<round>.<rank>. In round 0 the last rank waits until all have begun,
/// lets the launchers get idle, notes the time in FOLDER/died and dies of SIGKILL; the others wait to be stopped. In a
/// later round it ends with 0. Times are CLOCK_MONOTONIC in nanoseconds.

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
    const int rank = variable("RANK"), world = variable("WORLD_SIZE"), round = variable("TORCHELASTIC_RESTART_COUNT");
    const std::string folder = std::string(argv[1]) + "/", began = folder + "began." + std::to_string(round) + ".";
    note(began + std::to_string(rank), now);
    if (round > 0) return 0;
    if (rank != world - 1) {
        for (;;) pause();
    }
    for (int other = 0; other < world; ++other)
        while (access((began + std::to_string(other)).c_str(), F_OK) != 0) rest(1);
    rest(500);
    note(folder + "died", now_ns());
    raise(SIGKILL);
}
