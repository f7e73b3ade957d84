#include "agent/process/spawn.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "agent/process/program_paths.hpp"
#include "tests/support/temporary_folder.hpp"

namespace dlaunch::agent {
namespace {

namespace fs = std::filesystem;

class Spawn : public testing::Test {
protected:
    std::string file(const std::string& name, const std::string& text, mode_t mode) {
        const std::string path = folder_ / name;
        std::ofstream(path) << text;
        chmod(path.c_str(), mode);
        return path;
    }

    static SpawnRequest shell(const std::string& script) {
        SpawnRequest request;
        request.paths = {"/bin/sh"};
        request.arguments = {"sh", "-c", script};
        return request;
    }

    static Spawning begun(SpawnRequest request) {
        auto outcome = Spawning::begin(std::move(request));
        EXPECT_TRUE(std::holds_alternative<Spawning>(outcome));
        return std::move(std::get<Spawning>(outcome));
    }

    static int status_of(pid_t pid) {
        int status = 0;
        EXPECT_EQ(waitpid(pid, &status, 0), pid);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }

    /// The output of a shell script, run with `request` changed by `change`.
    static std::string output(const std::string& script, const std::function<void(SpawnRequest&)>& change = {}) {
        int ends[2];
        EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
        SpawnRequest request = shell(script);
        request.files[1] = ends[1];
        if (change) change(request);
        Spawning spawning = begun(std::move(request));
        close(ends[1]);
        EXPECT_FALSE(spawning.finish());
        std::string text;
        char part[512];
        for (ssize_t got; (got = read(ends[0], part, sizeof part)) > 0;)
            text.append(part, static_cast<std::size_t>(got));
        close(ends[0]);
        EXPECT_EQ(status_of(spawning.pid()), 0);
        return text;
    }

    static SpawnError error_of(SpawnRequest request) {
        Spawning spawning = begun(std::move(request));
        const pid_t pid = spawning.pid();
        const auto error = spawning.finish();
        EXPECT_TRUE(error);
        EXPECT_EQ(waitpid(pid, nullptr, WNOHANG), -1) << "it was not reaped";
        return error.value_or(SpawnError{});
    }

    const TemporaryFolder temporary_;
    const fs::path folder_ = temporary_.path();
};

TEST_F(Spawn, a_kept_descriptor_is_the_only_further_one) {
    int kept[2], other[2];
    ASSERT_EQ(pipe2(kept, O_CLOEXEC), 0);
    ASSERT_EQ(pipe2(other, 0), 0);
    const std::string script = "echo word >&" + std::to_string(kept[1]) +
                               "; n=0; while [ $n -lt 64 ]; do [ ! -e /proc/$$/fd/$n ] || echo $n; n=$((n + 1)); done";
    const std::string seen = output(script, [&](SpawnRequest& request) { request.kept = {kept[1]}; });
    EXPECT_EQ(seen, "0\n1\n2\n" + std::to_string(kept[1]) + "\n");
    char word[5] = {};
    EXPECT_EQ(read(kept[0], word, 4), 4);
    EXPECT_STREQ(word, "word");
    for (const int descriptor : {kept[0], kept[1], other[0], other[1]}) close(descriptor);
}

TEST_F(Spawn, runs_a_program_and_its_pidfd_reports_the_exit) {
    Spawning spawning = begun(shell("exit 7"));
    const base::UniqueFd pidfd = spawning.take_pidfd();
    EXPECT_FALSE(spawning.finish());
    pollfd what{pidfd.get(), POLLIN, 0};
    EXPECT_EQ(poll(&what, 1, 10'000), 1);
    EXPECT_EQ(status_of(spawning.pid()), 7);
}

TEST_F(Spawn, many_programs_start_concurrently) {
    std::vector<Spawning> all;
    for (int n = 0; n < 20; ++n) all.push_back(begun(shell("exit " + std::to_string(n))));
    for (int n = 0; n < 20; ++n) {
        EXPECT_FALSE(all[static_cast<std::size_t>(n)].finish());
        EXPECT_EQ(status_of(all[static_cast<std::size_t>(n)].pid()), n);
    }
}

TEST_F(Spawn, leaves_errno_alone_whatever_its_children_do) {
    Spawning first = begun(shell("exit 0"));  // the one-time checks of a process may set errno
    EXPECT_FALSE(first.finish());
    EXPECT_EQ(status_of(first.pid()), 0);
    errno = 0;
    std::vector<Spawning> all;
    for (int n = 0; n < 50; ++n) {
        SpawnRequest request;
        request.paths = {folder_ / "missing"};
        request.arguments = {"missing"};
        all.push_back(begun(std::move(request)));
        EXPECT_EQ(errno, 0);
    }
    for (auto& spawning : all) EXPECT_EQ(spawning.finish()->number, ENOENT);
}

TEST_F(Spawn, passes_arguments_and_variables_byte_for_byte) {
    const std::string odd = "a b\n\"'$x\xff";
    EXPECT_EQ(output("printf '%s|%s|%s' \"$1\" \"$MINE\" \"$THEIRS\"",
                     [&](SpawnRequest& request) {
                         request.arguments = {"sh", "-c", request.arguments[2], "sh", odd};
                         request.variables = {"MINE=" + odd};
                         request.inherited = {"THEIRS=x"};
                     }),
              odd + "|" + odd + "|x");
}

TEST_F(Spawn, leads_a_session_and_has_no_descriptor_but_three) {
    const int leaked = open("/dev/zero", O_RDONLY);  // not close-on-exec
    // No pipeline: its ends are the shell's own descriptors for a while. Not last: else the shell becomes ls.
    const std::string text = output("[ $(cut -d' ' -f6 /proc/$$/stat) = $$ ] && ls /proc/$$/fd; exit 0");
    close(leaked);
    EXPECT_EQ(text, "0\n1\n2\n");
}

TEST_F(Spawn, signals_are_as_in_a_fresh_process) {
    sigset_t block, before;
    sigfillset(&block);
    sigprocmask(SIG_BLOCK, &block, &before);
    const std::string text = output("grep -E 'SigIgn|SigBlk' /proc/self/status | cut -f2 | tr '\\n' ' '");
    sigprocmask(SIG_SETMASK, &before, nullptr);
    EXPECT_EQ(text, "0000000000000000 0000000000000000 ");
}

TEST_F(Spawn, starts_in_a_folder_with_limits_and_processors) {
    cpu_set_t mine;
    ASSERT_EQ(sched_getaffinity(0, sizeof mine, &mine), 0);
    int first = 0;
    while (!CPU_ISSET(static_cast<std::size_t>(first), &mine)) ++first;
    const std::string text =
        output("pwd; ulimit -Sn; grep Cpus_allowed_list /proc/self/status | cut -f2", [&](SpawnRequest& request) {
            request.working_directory = folder_;
            request.open_files = rlimit{77, 100};
            request.processors = {first};
        });
    EXPECT_EQ(text, fs::canonical(folder_).string() + "\n77\n" + std::to_string(first) + "\n");
}

TEST_F(Spawn, reports_the_fault_of_a_program) {
    struct Case {
        std::string path;
        int number, status;
        std::string word;
    };
    for (const Case& one :
         {Case{folder_ / "missing", ENOENT, 127, "No such file"}, Case{folder_, EACCES, 126, "directory"},
          Case{file("plain", "#!/bin/sh\n", 0644), EACCES, 126, "Permission denied"},
          Case{file("noise",
                    "\x7f"
                    "ELF but not really",
                    0755),
               ENOEXEC, 126, "Exec format"},
          Case{file("orphan", "#!/no/such/interpreter\n", 0755), ENOENT, 127, "interpreter"}}) {
        SpawnRequest request;
        request.paths = {one.path};
        request.arguments = {one.path};
        const SpawnError error = error_of(std::move(request));
        EXPECT_EQ(error.number, one.number) << one.path;
        EXPECT_EQ(error.exit_status(), one.status) << one.path;
        EXPECT_TRUE(error.permanent);
        EXPECT_NE(error.text().find(one.path), std::string::npos) << error.text();
        EXPECT_NE(error.text().find(one.word), std::string::npos) << error.text();
    }
}

TEST_F(Spawn, reports_the_failed_step) {
    SpawnRequest request = shell("exit 0");
    request.working_directory = folder_ / "gone";
    const SpawnError error = error_of(std::move(request));
    EXPECT_EQ(error.text(), "chdir " + (folder_ / "gone").string() + ": No such file or directory");
}

TEST_F(Spawn, a_program_is_found_as_a_shell_would_find_it) {
    fs::create_directory(folder_ / "one");
    fs::create_directory(folder_ / "two");
    file("one/tool", "", 0644);
    file("two/tool", "#!/bin/sh\nexit 5\n", 0755);
    fs::create_directory(folder_ / "one/folder");
    const std::string path = (folder_ / "one").string() + ":" + (folder_ / "two").string();
    const auto run = [&](const std::string& name, const std::string& search_path) {
        SpawnRequest request;
        request.arguments = {name};
        request.paths = candidates(name, search_path);
        return request;
    };
    Spawning spawning = begun(run("tool", path));
    EXPECT_FALSE(spawning.finish());
    EXPECT_EQ(status_of(spawning.pid()), 5);
    const SpawnError refused = error_of(run("tool", folder_ / "one"));
    EXPECT_EQ(refused.text(), (folder_ / "one/tool").string() + ": Permission denied");
    EXPECT_EQ(error_of(run("folder", path)).text(), "folder (not found in PATH): No such file or directory");
    EXPECT_EQ(error_of(run("", path)).exit_status(), 127);
    SpawnRequest mistyped = run("absent", path);
    mistyped.not_found_hint = "; did you mean ./absent?";
    const SpawnError absent = error_of(std::move(mistyped));
    EXPECT_EQ(absent.text(), "absent: not in PATH; did you mean ./absent?");
    EXPECT_EQ(absent.exit_status(), 127);
}

TEST(Candidates, are_the_name_in_each_folder_and_a_path_as_it_is) {
    EXPECT_EQ(candidates("tool", "/a::b/"), (std::vector<std::string>{"/a/tool", "./tool", "b//tool"}));
    EXPECT_EQ(candidates("./as/it/is", "/a"), std::vector<std::string>{"./as/it/is"});
}

TEST_F(Spawn, is_no_longer_starting_when_the_program_runs_or_cannot) {
    for (const char* path : {"/bin/sleep", "/nowhere/at/all"}) {
        SpawnRequest request;
        request.paths = {path};
        request.arguments = {"sleep", "600"};
        Spawning spawning = begun(std::move(request));
        EXPECT_TRUE(spawning.await(std::chrono::seconds(10)));
        EXPECT_FALSE(spawning.is_starting());
        const bool runs = !spawning.finish();
        EXPECT_EQ(runs, std::string(path) == "/bin/sleep");
        if (!runs) continue;
        kill(spawning.pid(), SIGKILL);
        EXPECT_EQ(status_of(spawning.pid()), 128 + SIGKILL);
    }
}

}  // namespace
}  // namespace dlaunch::agent
