#include "rendezvous/coordinate/job.hpp"

#include <gtest/gtest.h>

#include <string>
#include <variant>

namespace dlaunch::rendezvous {
namespace {

CoordinatorJob job_with(HeldClaim claim) {
    CoordinatorJob job;
    job.options.job_id = "night7";
    job.options.expected_hosts = {"node1", "node2"};
    job.options.more_hosts = MoreHosts::awaited;
    job.options.one_console = true;
    job.claim = std::move(claim);
    return job;
}

TEST(CoordinatorJob, CarriesAClaimInAFolder) {
    const Time asked(Milliseconds(123'456));
    const auto read = decode_job(encode(job_with(FolderSeat{"/dir/x.7", "text\n", 7, asked})));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->options.job_id, "night7");
    EXPECT_EQ(read->options.more_hosts, MoreHosts::awaited);
    EXPECT_TRUE(read->options.one_console);
    const auto& seat = std::get<FolderSeat>(*read->claim);
    EXPECT_EQ(seat.path, "/dir/x.7");
    EXPECT_EQ(seat.content, "text\n");
    EXPECT_EQ(seat.number, 7U);
    EXPECT_EQ(seat.asked, asked);
}

TEST(CoordinatorJob, CarriesAClaimInEtcd) {
    EtcdSeat given{{}, "/dlaunch/night7/", "text\n", Milliseconds(10'000), Time(Milliseconds(77))};
    given.at.members = {{"e1", 2379}, {"::1", 4}};
    given.at.https = true;
    given.at.authorities = "/ca";
    given.at.certificate = "/c";
    given.at.key = "/k";
    given.at.user = "root:a b";
    const auto read = decode_job(encode(job_with(given)));
    ASSERT_TRUE(read);
    const auto& seat = std::get<EtcdSeat>(*read->claim);
    EXPECT_EQ(seat.at, given.at);
    EXPECT_EQ(seat.prefix, given.prefix);
    EXPECT_EQ(seat.content, given.content);
    EXPECT_EQ(seat.node_timeout, given.node_timeout);
    EXPECT_EQ(seat.asked, given.asked);
}

TEST(CoordinatorJob, AnIncompleteOneIsNone) {
    const std::string whole = encode(job_with(EtcdSeat{}));
    for (std::size_t length = 0; length < whole.size(); ++length)
        EXPECT_FALSE(decode_job(std::string_view(whole).substr(0, length))) << length;
}

}  // namespace
}  // namespace dlaunch::rendezvous
