#include "agent/mpi/session_files.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace dlaunch::agent {
namespace {

namespace fs = std::filesystem;

TEST(RemoveSessionFiles, RemovesFoldersWithAllThatIsInThem) {
    const fs::path folder = fs::temp_directory_path() / ("dlaunch-session-files-" + std::to_string(getpid()));
    fs::create_directories(folder / "1" / "below");
    std::ofstream(folder / "1" / "file") << "text";
    fs::create_directory_symlink("/usr", folder / "link");
    remove_session_files({}, {folder.string() + "-absent", folder});
    EXPECT_FALSE(fs::exists(folder));
    EXPECT_TRUE(fs::exists("/usr/bin")) << "links are not followed";
}

}  // namespace
}  // namespace dlaunch::agent
