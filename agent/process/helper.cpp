#include "agent/process/helper.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "agent/process/program_paths.hpp"

namespace dlaunch::agent {
namespace {

constexpr int kTimedOut = 124;           // as timeout(1)
constexpr std::size_t kMostRead = 4096;  // holds what scontrol shows of a job

}  // namespace

void Helper::run(const std::vector<std::string>& words,
                 const std::vector<std::pair<std::string, std::string>>& variables, base::Duration limit,
                 std::function<void(const Result&)> done) {
    done_ = std::move(done);
    limit_ = loop_.after(limit, [this] {
        static_cast<void>(program_.kill());
        finish({kTimedOut, "it has not ended in time"});
    });
    SpawnRequest request;
    std::string path = "/usr/bin:/bin";
    for (const auto& [name, value] : variables) {
        request.variables.push_back(fmt::format("{}={}", name, value));
        if (name == "PATH") path = value;
    }
    request.arguments = words;
    request.paths = candidates(words.front(), path);
    // The pipe holds what the program writes until its end. A program that writes more than a pipe holds runs into the
    // limit.
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0) pipe_.reset(ends[0]);
    const base::UniqueFd writer(pipe_ ? ends[1] : -1), nothing(open("/dev/null", O_RDWR | O_CLOEXEC));
    const int output = writer ? writer.get() : nothing.get();
    request.files = {nothing.get(), output, output};
    program_.begin(std::move(request), [this](const ChildProgram::End& end) {
        if (!end.executed) return finish({end.status, end.text});
        std::array<char, kMostRead> text;
        const ssize_t got = read(pipe_.get(), text.data(), text.size());
        finish({end.status, std::string(text.data(), got > 0 ? static_cast<std::size_t>(got) : 0)});
    });
}

void Helper::finish(Result result) {
    limit_ = {};
    std::exchange(done_, nullptr)(result);
}

}  // namespace dlaunch::agent
