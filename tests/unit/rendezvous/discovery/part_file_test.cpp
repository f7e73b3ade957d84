#include "rendezvous/discovery/part_file.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>

#include "tests/support/temporary_folder.hpp"

namespace dlaunch::rendezvous {
namespace {

namespace fs = std::filesystem;

class Part : public testing::Test {
protected:
    std::set<std::string> files() const {
        std::set<std::string> found;
        for (const auto& entry : fs::directory_iterator(path)) found.insert(entry.path().filename());
        return found;
    }
    void left(const std::string& name, std::chrono::seconds ago) const {
        std::ofstream(path + "/" + name) << "x";
        fs::last_write_time(path + "/" + name, fs::file_time_type::clock::now() - ago);
    }

    const TemporaryFolder temporary;
    const std::string path = temporary.path();
};

TEST_F(Part, leaves_nothing_but_the_name_that_it_was_given) {
    {
        PartFile first(path + "/dlaunch-a."), second(path + "/dlaunch-a.");
        ASSERT_TRUE(first.create() && first.write("one"));
        ASSERT_TRUE(second.create() && second.write("two"));
        EXPECT_EQ(files().size(), 2U);
        EXPECT_EQ(first.link_as(path + "/dlaunch-a.1").value(), true);
        EXPECT_EQ(second.link_as(path + "/dlaunch-a.1").value(), false);
    }
    EXPECT_EQ(files(), std::set<std::string>{"dlaunch-a.1"});
}

TEST_F(Part, what_a_killed_process_has_left_is_removed_after_a_minute) {
    using std::chrono::seconds;
    left("dlaunch-a.part.Killed", seconds(90));
    left("dlaunch-a.part.Killed.check", seconds(90));
    left("dlaunch-a.part.Living", seconds(30));
    left("dlaunch-b.part.Others", seconds(90));
    left("dlaunch-a.1", seconds(90));
    {
        PartFile part(path + "/dlaunch-a.");
        ASSERT_TRUE(part.create());
    }
    EXPECT_EQ(files(), (std::set<std::string>{"dlaunch-a.part.Living", "dlaunch-b.part.Others", "dlaunch-a.1"}));
}

TEST_F(Part, that_cannot_be_written_reports_why) {
    PartFile part(path + "/nowhere/dlaunch-a.");
    const auto created = part.create();
    ASSERT_FALSE(created);
    EXPECT_EQ(created.error().text, "No such file or directory");
}

}  // namespace
}  // namespace dlaunch::rendezvous
