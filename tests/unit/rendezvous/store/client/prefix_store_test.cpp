#include "rendezvous/store/client/prefix_store.hpp"

#include "rendezvous/store/client/hash_store.hpp"
#include "tests/unit/rendezvous/store/client/stores_fixture.hpp"

namespace dlaunch::store {
namespace {

TEST(PrefixStore, keys_are_below_the_prefix) {
    HashStore all;
    PrefixStore view("/job", all), nested("round 1", view);
    ASSERT_TRUE(view.set("k", "1", soon()));
    ASSERT_TRUE(nested.set("k", "2", soon()));
    ASSERT_TRUE(all.set("k", "3", soon()));
    EXPECT_EQ(*all.get("/job/k", soon()), "1");
    EXPECT_EQ(*all.get("/job/round 1/k", soon()), "2");
    EXPECT_EQ(*nested.list_keys(soon()), Strings{"k"});
    EXPECT_EQ(*nested.num_keys(soon()), 1);
    EXPECT_EQ(*view.num_keys(soon()), 2);
    EXPECT_TRUE(*view.delete_key("k", soon()));
    EXPECT_FALSE(*view.check(Strings{"k"}, soon()));
    EXPECT_TRUE(*nested.check(Strings{"k"}, soon()));
}

TEST(PrefixStore, every_call_goes_through) {
    HashStore all;
    PrefixStore view("p", all);
    EXPECT_EQ(*view.add("n", 2, soon()), 2);
    EXPECT_EQ(*view.compare_set("c", "", "x", soon()), "x");
    ASSERT_TRUE(view.append("c", "y", soon()));
    ASSERT_TRUE(view.multi_set(std::vector<std::pair<std::string, std::string>>{{"a", "1"}}, soon()));
    EXPECT_EQ(*view.multi_get(Strings{"a", "c"}, soon()), (Strings{"1", "xy"}));
    ASSERT_TRUE(view.queue_push("q", "item", soon()));
    EXPECT_EQ(*view.queue_len("q", soon()), 1);
    EXPECT_EQ(*view.queue_pop("q", soon()), "item");
    EXPECT_TRUE(view.barrier("b", 1, soon()));
    EXPECT_TRUE(view.wait(Strings{"a", "b"}, soon()));
    Strings keys = *all.list_keys(soon());
    std::sort(keys.begin(), keys.end());
    EXPECT_EQ(keys, (Strings{"p/a", "p/b", "p/c", "p/n"}));
    EXPECT_EQ(view.wait(Strings{"z"}, now()).error().text, "store: wait for p/z: timed out");
}

}  // namespace
}  // namespace dlaunch::store
