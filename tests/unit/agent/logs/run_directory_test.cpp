#include "agent/logs/run_directory.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <regex>
#include <set>
#include <vector>

#include "tests/support/temporary_folder.hpp"

namespace dlaunch::agent {
namespace {

namespace fs = std::filesystem;

TEST(SafeFileName, keeps_harmless_bytes) {
    EXPECT_EQ(safe_file_name("night7-v1.2_x"), "night7-v1.2_x");
    EXPECT_EQ(safe_file_name("l\xc3\xa4uft"), "l\xc3\xa4uft");
}

TEST(SafeFileName, replaces_other_bytes) {
    EXPECT_EQ(safe_file_name("../../etc/passwd"), "_._.._etc_passwd");
    EXPECT_EQ(safe_file_name(".hidden"), "_hidden");
    EXPECT_EQ(safe_file_name(".."), "_.");
    EXPECT_EQ(safe_file_name("a b\tc\nd$e*f"), "a_b_c_d_e_f");
    EXPECT_EQ(safe_file_name(std::string_view("a\0b", 3)), "a_b");
    EXPECT_EQ(safe_file_name(""), "_");
}

TEST(SafeFileName, is_short_and_keeps_characters_whole) {
    EXPECT_EQ(safe_file_name(std::string(300, 'x')), std::string(100, 'x'));
    EXPECT_EQ(safe_file_name(std::string(99, 'x') + "\xc3\xa4"), std::string(99, 'x'));
}

class RunDirectoryTest : public testing::Test {
protected:
    /// The plan of the answer lives until the next call.
    RunDirectory::Wanted wanted(const fs::path& folder, const std::string& temporary, const std::string& job,
                                bool keeps_files) {
        plan_ = {};
        plan_.directory = folder;
        plan_.redirects.others = keeps_files ? 3 : 0;
        return {.plan = plan_, .temporary = temporary, .job_id = job, .program = "prog", .host = ""};
    }

    LogPlan plan_;
    Warnings warnings_;
    const TemporaryFolder temporary_;
    const fs::path folder_ = temporary_.path();
    RunDirectory directory_{warnings_};
};

TEST_F(RunDirectoryTest, parents_are_made_and_the_name_begins_with_the_job) {
    ASSERT_TRUE(directory_.make(wanted(folder_ / "a/b c", "", "night/7", true)));
    const fs::path run = directory_.paths().folder();
    EXPECT_EQ(run.parent_path(), folder_ / "a/b c");
    EXPECT_EQ(run.filename().string().substr(0, 8), "night_7_");
    EXPECT_EQ(run.filename().string().size(), 16u);
    EXPECT_EQ(fs::status(run).permissions(), fs::perms::owner_all);
    EXPECT_FALSE(directory_.is_temporary());
}

TEST_F(RunDirectoryTest, latest_leads_to_the_newest_run) {
    ASSERT_TRUE(directory_.make(wanted(folder_, "", "job", true)));
    RunDirectory second(warnings_);
    ASSERT_TRUE(second.make(wanted(folder_, "", "job", true)));
    EXPECT_NE(directory_.paths().folder(), second.paths().folder());
    EXPECT_EQ(fs::read_symlink(folder_ / "latest").string(), fs::path(second.paths().folder()).filename());
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 3) << "two runs and the link, nothing else";
}

TEST_F(RunDirectoryTest, a_node_among_several_has_a_link_of_its_own) {
    auto shared = wanted(folder_, "", "job", true);
    shared.host = "node/1";
    ASSERT_TRUE(directory_.make(shared));
    RunDirectory second(warnings_);
    shared.host = "node2";
    ASSERT_TRUE(second.make(shared));
    EXPECT_EQ(fs::read_symlink(folder_ / "latest-node_1"), fs::path(directory_.paths().folder()).filename());
    EXPECT_EQ(fs::read_symlink(folder_ / "latest-node2"), fs::path(second.paths().folder()).filename());
    EXPECT_EQ(fs::read_symlink(folder_ / "latest"), fs::path(second.paths().folder()).filename());
}

TEST_F(RunDirectoryTest, a_file_named_latest_is_left_alone) {
    std::ofstream(folder_ / "latest") << "mine";
    ASSERT_TRUE(directory_.make(wanted(folder_, "", "job", true)));
    EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(folder_ / "latest")));
}

TEST_F(RunDirectoryTest, an_attempt_has_folders_of_workers_and_links) {
    ASSERT_TRUE(directory_.make(wanted(folder_, "", "job", true)));
    directory_.make_attempt(0, true);
    directory_.make_worker(3, "11-node/2");
    directory_.make_attempt(1, false);
    directory_.make_worker(3, "");
    const fs::path run = directory_.paths().folder();
    EXPECT_EQ(directory_.paths().worker(0, 3), (run / "attempt_0/3").string());
    EXPECT_TRUE(fs::is_directory(run / "attempt_0/3"));
    EXPECT_EQ(fs::read_symlink(run / "attempt_0/by-rank/11-node_2"), "../3");
    EXPECT_TRUE(fs::is_directory(run / "attempt_0/by-rank/11-node_2"));
    EXPECT_TRUE(fs::is_directory(run / "attempt_1/3"));
    EXPECT_EQ(directory_.paths().error_file({.local_rank = 3, .restart_round = 1}),
              (run / "attempt_1/3/error.json").string());
    EXPECT_FALSE(fs::exists(run / "attempt_1/by-rank"));
    EXPECT_TRUE(warnings_.take().empty());
}

TEST_F(RunDirectoryTest, without_a_log_directory_the_run_lies_in_tmpdir_under_date_and_program) {
    auto in_tmpdir = wanted("", folder_.string(), "job", true);
    in_tmpdir.program = "my train.py";
    ASSERT_TRUE(directory_.make(in_tmpdir));
    ASSERT_TRUE(directory_.is_temporary());
    const fs::path run = directory_.paths().folder();
    EXPECT_EQ(run.parent_path(), folder_);
    EXPECT_TRUE(
        std::regex_match(run.filename().string(), std::regex("dlaunch-20[0-9]{6}-[0-9]{6}-my_train\\.py-[a-z0-5]{8}")))
        << run;
    EXPECT_EQ(fs::status(run).permissions(), fs::perms::owner_all);
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1) << "no link";
}

TEST_F(RunDirectoryTest, the_oldest_runs_are_removed) {
    std::vector<std::unique_ptr<RunDirectory>> runs;
    for (int n = 0; n < 4; ++n) {
        runs.push_back(std::make_unique<RunDirectory>(warnings_));
        const auto in_tmpdir = wanted("", folder_.string(), "job", true);
        plan_.keep_runs = 2;
        ASSERT_TRUE(runs.back()->make(in_tmpdir));
        runs.back()->make_attempt(0, false);
        const auto began = fs::file_time_type::clock::now() - std::chrono::hours(9 - n);
        fs::last_write_time(runs.back()->paths().folder(), began);
    }
    runs[3]->close();
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 4) << "three of them still run";
    std::vector<fs::path> folders;
    for (const auto& run : runs) folders.emplace_back(run->paths().folder());
    for (const std::size_t n : {1, 2}) runs[n].reset();
    runs[0]->close();  // the first run ends last, and is the newest from now on
    EXPECT_TRUE(fs::exists(folders[0]));
    EXPECT_FALSE(fs::exists(folders[1]));
    EXPECT_FALSE(fs::exists(folders[2]));
    EXPECT_TRUE(fs::exists(folders[3]));
}

TEST_F(RunDirectoryTest, a_users_log_directory_keeps_all_runs_unless_a_number_is_given) {
    for (int keep : {0, 0, 1}) {
        RunDirectory run(warnings_);
        const auto users = wanted(folder_, "", "job", true);
        plan_.keep_runs = keep;
        const auto entries = std::distance(fs::directory_iterator(folder_), {});
        ASSERT_TRUE(run.make(users));
        run.make_attempt(0, false);
        run.close();
        EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), keep ? 2 : entries + (entries ? 1 : 2));
    }
}

TEST_F(RunDirectoryTest, a_job_without_files_has_one_folder_for_all_error_files) {
    ASSERT_TRUE(directory_.make(wanted("", folder_.string(), "job", false)));
    EXPECT_EQ(fs::path(directory_.paths().folder()).parent_path(), folder_);
    directory_.make_attempt(0, false);
    directory_.make_worker(0, "");
    EXPECT_TRUE(fs::is_empty(directory_.paths().folder()));
    EXPECT_EQ(directory_.paths().worker(0, 0), "");
    std::set<std::string> files;
    for (int attempt : {0, 1, 11})
        for (int rank : {0, 1, 11})
            files.insert(directory_.paths().error_file({.local_rank = rank, .restart_round = attempt}));
    EXPECT_EQ(files.size(), 9u);
    for (const std::string& file : files) EXPECT_EQ(fs::path(file).parent_path(), directory_.paths().folder());
    directory_.remove();
    EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(RunDirectoryTest, a_users_log_directory_is_never_removed) {
    ASSERT_TRUE(directory_.make(wanted(folder_, "", "job", true)));
    directory_.remove();
    EXPECT_TRUE(fs::exists(directory_.paths().folder()));
}

TEST_F(RunDirectoryTest, an_error_names_path_and_reason) {
    std::ofstream(folder_ / "file") << "";
    const auto under = directory_.make(wanted(folder_ / "file/logs", "", "job", true));
    ASSERT_FALSE(under);
    const std::string remedy = "; name one that can be written with --log-dir";
    EXPECT_EQ(under.error().text, "log directory " + (folder_ / "file/logs").string() + ": Not a directory" + remedy);
    const auto itself = directory_.make(wanted(folder_ / "file", "", "job", true));
    ASSERT_FALSE(itself);
    EXPECT_EQ(itself.error().text, "log directory " + (folder_ / "file").string() + ": Not a directory" + remedy);
    const auto temporary = directory_.make(wanted("", (folder_ / "none").string(), "job", true));
    ASSERT_FALSE(temporary);
    EXPECT_NE(temporary.error().text.find("No such file or directory; name one that can be written with TMPDIR"),
              std::string::npos);
    EXPECT_EQ(directory_.paths().folder(), "");
}

TEST_F(RunDirectoryTest, a_vanished_folder_causes_one_warning) {
    ASSERT_TRUE(directory_.make(wanted(folder_ / "logs", "", "job", true)));
    fs::remove_all(folder_ / "logs");
    directory_.make_attempt(0, true);
    directory_.make_worker(0, "0-h");
    directory_.make_attempt(1, true);
    EXPECT_EQ(warnings_.take().size(), 1u);
}

}  // namespace
}  // namespace dlaunch::agent
