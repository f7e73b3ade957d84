#include "rendezvous/coordinate/record_file.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>

namespace dlaunch::rendezvous {
namespace {

TEST(RecordFile, ALaterRecordReplacesAnEarlierOne) {
    const auto file = make_memory_file("record", "");
    ASSERT_TRUE(file);
    EXPECT_EQ(read_record(file->get()), "");
    for (const std::string& text : {std::string("one"), std::string(70'000, 'x'), std::string("three")}) {
        ASSERT_TRUE(write_record(file->get(), text));
        EXPECT_EQ(read_record(file->get()), text);
    }
}

TEST(RecordFile, AReaderSeesWholeRecordsWhileTheyAreReplaced) {
    const auto file = make_memory_file("record", "");
    ASSERT_TRUE(file && write_record(file->get(), std::string(5'000, 'a')));
    std::atomic<bool> has_read = false;
    std::thread writer([&] {
        for (std::size_t count = 0; !has_read; ++count)
            EXPECT_TRUE(write_record(file->get(), std::string(5'000 + count % 3 * 4096, "abc"[count % 3])));
    });
    for (int count = 0; count < 5'000; ++count) {
        const std::string record = read_record(file->get());
        const char letter = record.empty() ? '\0' : record.front();
        if (record.find_first_not_of(letter) != std::string::npos || letter < 'a' || letter > 'c' ||
            record.size() != 5'000U + static_cast<std::size_t>(letter - 'a') * 4096) {
            ADD_FAILURE() << "record " << count << " has " << record.size() << " bytes and is not whole";
            break;
        }
    }
    has_read = true;
    writer.join();
}

}  // namespace
}  // namespace dlaunch::rendezvous
