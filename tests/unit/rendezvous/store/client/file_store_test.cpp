#include "rendezvous/store/client/file_store.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/support/temporary_folder.hpp"
#include "tests/unit/rendezvous/store/client/stores_fixture.hpp"

namespace dlaunch::store {
namespace {

/// The name of a missing file in a folder of its own.
struct NewFile {
    const TemporaryFolder temporary;
    const std::string folder = temporary.path(), path = folder + "/store";
};

struct File {
    NewFile file;
    std::unique_ptr<FileStore> one = *FileStore::open(file.path), two = *FileStore::open(file.path);
    Store& store() { return *one; }
    Store& another() { return *two; }
};

INSTANTIATE_TYPED_TEST_SUITE_P(FileStore, AnyStore, File);

void append_to(const std::string& path, std::string_view bytes) {
    std::ofstream(path, std::ios::app | std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

TEST(FileStore, a_late_reader_replays_the_whole_log) {
    NewFile file;
    for (int i = 0; i < 100; ++i) ASSERT_TRUE((*FileStore::open(file.path))->add("/n", i, soon()));
    EXPECT_EQ(*(*FileStore::open(file.path))->get("/n", soon()), "4950");
}

TEST(FileStore, processes_share_it) {
    NewFile file;
    constexpr int kChildren = 4;
    for (int i = 0; i < kChildren; ++i) {
        if (fork() != 0) continue;
        const auto store = *FileStore::open(file.path);
        for (int n = 0; n < 25; ++n) (void)store->add("/n", 1, soon());
        _exit(store->barrier("/all", kChildren + 1, soon()) ? 0 : 1);
    }
    const auto store = *FileStore::open(file.path);
    EXPECT_TRUE(store->barrier("/all", kChildren + 1, soon()));
    EXPECT_EQ(*store->get("/n", soon()), "100");
    int status = 0;
    while (wait(&status) > 0) EXPECT_EQ(status, 0);
}

TEST(FileStore, half_a_request_of_a_dead_writer_is_cut_off) {
    NewFile file;
    const auto before = *FileStore::open(file.path);
    ASSERT_TRUE(before->set("/k", "v", soon()));
    const auto good = std::filesystem::file_size(file.path);
    std::string half;
    wire::Request request;
    request.operation = wire::StoreOperation::set;
    request.key = "/half";
    wire::encode(request, half);
    append_to(file.path, std::string_view(half).substr(0, half.size() - 1));
    EXPECT_FALSE(*before->check(Strings{"/half"}, soon()));
    const auto after = *FileStore::open(file.path);
    EXPECT_EQ(*after->get("/k", soon()), "v");
    EXPECT_GT(std::filesystem::file_size(file.path), good);
    ASSERT_TRUE(after->set("/k", "w", soon()));
    EXPECT_EQ(*before->get("/k", soon()), "w");
    EXPECT_EQ(*before->num_keys(soon()), 1);
}

TEST(FileStore, a_request_without_an_effect_is_not_written) {
    NewFile file;
    const auto store = *FileStore::open(file.path);
    ASSERT_TRUE(store->set("/k", "v", soon()));
    const auto size = std::filesystem::file_size(file.path);
    EXPECT_EQ(*store->compare_set("/k", "no", "x", soon()), "v");
    EXPECT_FALSE(*store->delete_key("/none", soon()));
    EXPECT_FALSE(store->wait(Strings{"/none"}, now()));
    EXPECT_EQ(*store->get("/k", soon()), "v");
    EXPECT_EQ(std::filesystem::file_size(file.path), size);
}

TEST(FileStore, other_files_are_refused) {
    NewFile file;
    append_to(file.path, "hello, this is a letter\n");
    const auto store = *FileStore::open(file.path);
    EXPECT_EQ(store->get("/k", soon()).error().text, file.path + ": is no store of dlaunch");
    EXPECT_FALSE(store->set("/k", "v", soon()));
    EXPECT_EQ(std::filesystem::file_size(file.path), 24U);
    EXPECT_EQ(FileStore::open(file.folder + "/no/such").error().text,
              file.folder + "/no/such: No such file or directory");
}

TEST(FileStore, a_file_that_became_shorter_is_an_error) {
    NewFile file;
    const auto store = *FileStore::open(file.path);
    ASSERT_TRUE(store->set("/k", "v", soon()));
    std::filesystem::resize_file(file.path, 0);
    EXPECT_FALSE(store->get("/k", soon()));
    EXPECT_FALSE(store->set("/k", "v", soon()));
}

}  // namespace
}  // namespace dlaunch::store
