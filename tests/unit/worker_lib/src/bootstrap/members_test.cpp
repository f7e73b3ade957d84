#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "worker_lib/src/bootstrap/bootstrap.hpp"

namespace dlaunch::worker {
namespace {

const Error::Where kWhere{"new_group", 0, "world"};
constexpr std::chrono::seconds kLongEnough{20};

class RollCall : public testing::Test {
protected:
    RollCall() { close(mkstemp(path_.data())); }
    ~RollCall() override { unlink(path_.c_str()); }
    std::string path_ = testing::TempDir() + "dlaunch-roll-call-XXXXXX";
    StoreHandle store() { return {StoreSource::file(path_), "group"}; }
    /// The ranks that rank 1 of three blames.
    std::vector<int> blamed_by_rank_1(const StoreHandle& store) {
        try {
            (void)roll_call(store, kWhere, std::vector{0, 1, 2}, 1, {}, "one", after(kLongEnough));
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::peer_lost);
            return error.ranks();
        }
        ADD_FAILURE() << "no error";
        return {};
    }
};

TEST_F(RollCall, ReturnsTheValuesInTheOrderOfTheRanks) {
    store().set("2", "two", after(kLongEnough));
    EXPECT_EQ(roll_call(store(), kWhere, std::vector{2, 1}, 1, {}, "one", after(kLongEnough)),
              (std::vector<std::string>{"two", "one"}));
}

TEST_F(RollCall, NamesALostRank) {
    const auto guarded = store().with_liveness_check(
        std::chrono::milliseconds(1), [] { throw Error(ErrorCode::peer_lost, "rank 0 is gone", {0}, kWhere); });
    EXPECT_EQ(blamed_by_rank_1(guarded), std::vector{0});
}

TEST_F(RollCall, NamesTheRankThatALostRankGaveUpFor) {
    const auto guarded = store().with_liveness_check(std::chrono::milliseconds(1), [this] {
        store().set("2", "two", after(kLongEnough));
        store().set("0", pack_error({ErrorCode::peer_lost, "rank 0 is gone", {0}, kWhere}), after(kLongEnough));
        throw Error(ErrorCode::peer_lost, "rank 2 is gone", {2}, kWhere);
    });
    EXPECT_EQ(blamed_by_rank_1(guarded), std::vector{0});
}

TEST(NameByRankTest, where_not_all_have_a_rank_of_their_own) {
    const auto named = [](std::vector<int> ranks) {
        std::vector<Member> members;
        for (const int rank : ranks) members.push_back({.named = rank});
        name_by_rank(members);
        std::vector<int> names;
        for (const Member& member : members) names.push_back(member.named);
        return names;
    };
    EXPECT_EQ(named({2, 5, 3}), (std::vector{2, 5, 3}));
    EXPECT_EQ(named({2, 2, 3}), (std::vector{0, 1, 2}));
    EXPECT_EQ(named({4, -1, 3}), (std::vector{0, 1, 2}));
}

TEST(CheckBackendsTest, names_the_ranks_of_each_backend) {
    const auto members = [](std::vector<std::string> backends) {
        std::vector<Member> made;
        for (const std::string& backend : backends) made.push_back({"host", 1, "host", backend});
        return made;
    };
    EXPECT_NO_THROW(check_backends(members({"auto", "auto"})));
    try {
        check_backends(members({"shm", "gloo", "shm", "gloo", "nccl"}));
        ADD_FAILURE() << "no error";
    } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::mismatch);
        EXPECT_EQ(error.ranks(), (std::vector{0, 1, 3, 4}));
        EXPECT_STREQ(error.what(),
                     "init_process_group: ranks 0 and 2 asked for the backend shm, ranks 1 and 3 asked for the backend "
                     "gloo, rank 4 asked for the backend nccl; all ranks must name the same one, by the argument or "
                     "DLAUNCH_BACKEND");
    }
}

}  // namespace
}  // namespace dlaunch::worker
