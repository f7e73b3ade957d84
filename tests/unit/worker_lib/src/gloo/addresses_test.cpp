#include "worker_lib/src/gloo/addresses.hpp"

#include <gtest/gtest.h>

namespace dlaunch::worker::gloo_backend {
namespace {

std::string address(int number, unsigned short family = AF_INET) {
    sockaddr begin{.sa_family = family, .sa_data = {}};
    return std::string(reinterpret_cast<const char*>(&begin), sizeof begin) + "#" + std::to_string(number);
}

TEST(Addresses, EachRankFindsItsOwnInEveryValue) {
    for (int publisher = 0; publisher < 4; ++publisher) {
        std::string all;
        for (int reader = 0; reader < 4; ++reader)
            if (reader != publisher) all += address(reader);
        const auto split = split_addresses(all, 4);
        ASSERT_EQ(split.size(), 3U);
        for (int reader = 0; reader < 4; ++reader) {
            if (reader == publisher) continue;
            const std::size_t place = address_place(publisher, reader);
            EXPECT_EQ(split[place], address(reader));
            const auto value = value_with_address(split[place], publisher, reader, 4);
            EXPECT_EQ(std::string_view(value.data(), value.size()).substr(place * address(0).size(), address(0).size()),
                      address(reader));
            EXPECT_EQ(value.size(), all.size());
        }
    }
}

TEST(Addresses, OfAnotherFormAreNotSplit) {
    EXPECT_TRUE(split_addresses("", 3).empty());
    EXPECT_TRUE(split_addresses("", 1).empty());
    EXPECT_TRUE(split_addresses("ab", 3).empty());
    EXPECT_TRUE(split_addresses(address(0) + address(1) + "x", 3).empty());
    EXPECT_TRUE(split_addresses(address(0) + address(1, AF_UNIX), 3).empty());
    EXPECT_EQ(split_addresses(address(0) + address(1, AF_INET6), 3).size(), 2U);
}

}  // namespace
}  // namespace dlaunch::worker::gloo_backend
