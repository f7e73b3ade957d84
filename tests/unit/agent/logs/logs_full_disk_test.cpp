#include <algorithm>
#include <set>

#include "tests/unit/agent/logs/logs_fixture.hpp"

namespace dlaunch::agent {
namespace {

TEST_F(LogsTest, what_a_file_cannot_take_goes_to_the_console) {
    options_.plan.redirects.others = kStdout | kStderr;
    options_.plan.tee.by_rank = {{1, kStdout}};
    options_.plan.shown = std::set<int>{0, 1};
    logs_ = std::make_unique<Logs>(loop_, options_);
    ASSERT_TRUE(logs_->prepare());
    for (const char* rank : {"0", "1", "2"}) {
        const fs::path folder = fs::path(logs_->paths().folder()) / "attempt_0" / rank;
        fs::create_directories(folder);
        fs::create_symlink("/dev/full", folder / "stdout.log");
    }
    start(3);
    for (const OutputEnds& ends : ends_) {
        put(ends.out, "lost\n");
        put(ends.err, "kept\n");
    }
    drain();
    Texts shown = lines_of(console_out());
    std::ranges::sort(shown);
    EXPECT_EQ(shown, (Texts{"[default1]:lost", "lost"}));
    EXPECT_EQ(console_err(), "");
    EXPECT_EQ(text(attempt(0) / "0/stderr.log"), "kept\n");
}

}  // namespace
}  // namespace dlaunch::agent
