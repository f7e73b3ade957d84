#include "launcher/hosts/selection.hpp"

#include <gtest/gtest.h>

namespace dlaunch::launcher {
namespace {

const std::vector<HostEntry> kFour{{"w0", "", 4}, {"w1", "", 4}, {"w2", "", 4}, {"w3", "", 4}};

std::string spelling(std::string_view option) { return "--" + std::string(option) + "=X"; }

/// "w0 w3:0,2": names, with the slots that were chosen; or the error.
std::string shown(const base::Result<std::vector<SelectedHost>>& selected) {
    if (!selected) return selected.error().text;
    std::string all;
    for (const SelectedHost& host : *selected) {
        all += (all.empty() ? "" : " ") + host.name;
        for (const int id : host.slot_ids) all += (id == host.slot_ids[0] ? ":" : ",") + std::to_string(id);
        EXPECT_TRUE(host.slot_ids.empty() || host.slots == static_cast<int>(host.slot_ids.size())) << host.name;
    }
    return all;
}

std::string include(const char* text, const std::vector<HostEntry>& hosts = kFour) {
    return shown(select_hosts(hosts, {parse_choices(text).value(), {}, {}, {}}, spelling));
}

std::string exclude(const char* text, const std::vector<HostEntry>& hosts = kFour) {
    return shown(select_hosts(hosts, {{}, parse_choices(text).value(), {}, {}}, spelling));
}

std::string limited(std::optional<int> nodes, std::optional<int> gpus, const std::vector<HostEntry>& hosts = kFour) {
    return shown(select_hosts(hosts, {{}, {}, nodes, gpus}, spelling));
}

TEST(Choices, HostsAndSlots) {
    EXPECT_EQ(*parse_choices("w1@w3:2,0,2"), (std::vector<HostChoice>{{"w1", {}}, {"w3", {0, 2}}}));
    EXPECT_EQ(*parse_choices("w[1-2]:7"), (std::vector<HostChoice>{{"w1", {7}}, {"w2", {7}}}));
    EXPECT_EQ(*parse_choices("[::1]:0"), (std::vector<HostChoice>{{"::1", {0}}}));
    for (const char* text : {"w1:x", "w1:", "w1:0,", "w1:-1", ":0", "w1:0:1"})
        EXPECT_EQ(parse_choices(text).error().text,
                  std::string(text) + ": expected hosts with '@' between them, as HOST or HOST:0,2");
    for (const char* text : {"", "@", "w1@", "@w1"})
        EXPECT_TRUE(parse_choices(text).error().text.starts_with("an empty name: expected hosts")) << text;
    EXPECT_FALSE(parse_choices("w[1-200000]"));
    EXPECT_FALSE(parse_choices("w1 w2"));
}

TEST(Selection, WithoutAChoiceAllHostsStay) {
    const auto selected = select_hosts({{"a", "ann", 2}, {"b"}}, {}, spelling);
    ASSERT_TRUE(selected);
    EXPECT_EQ(*selected, (std::vector<SelectedHost>{{"a", "ann", 2, {}}, {"b", "", std::nullopt, {}}}));
}

TEST(Selection, IncludeKeepsTheOrderOfTheHosts) {
    EXPECT_EQ(include("w1"), "w1") << "a whole host: no choice among its slots";
    EXPECT_EQ(include("w1@w3:0,2"), "w1 w3:0,2");
    EXPECT_EQ(include("w3:1@w0:3,2"), "w0:2,3 w3:1");
    EXPECT_EQ(include("w1:0,1,2,3"), "w1:0,1,2,3");
    EXPECT_EQ(include("w0:0@w0:1"), "w0:1") << "as DeepSpeed: the last part of a host counts";
}

TEST(Selection, ExcludeRemovesHostsAndSlots) {
    EXPECT_EQ(exclude("w1"), "w0 w2 w3");
    EXPECT_EQ(exclude("w0@w1:0"), "w1:1,2,3 w2 w3");
    EXPECT_EQ(exclude("w2:0,1,2,3"), "w0 w1 w3");
    EXPECT_EQ(exclude("w0@w1:0@w2@w3"), "w1:1,2,3");
    EXPECT_EQ(exclude("w0:0@w0:1@w[1-3]"), "w0:2,3");
    EXPECT_EQ(exclude("w0@w1@w2@w3"), "--exclude=X: no host is left, expected one at least");
}

TEST(Selection, TheFirstNodesAndSlots) {
    EXPECT_EQ(limited(2, {}), "w0 w1");
    EXPECT_EQ(limited({}, 2), "w0:0,1 w1:0,1 w2:0,1 w3:0,1");
    EXPECT_EQ(limited(2, 3), "w0:0,1,2 w1:0,1,2");
    EXPECT_EQ(limited(5, {}), "--num-nodes=X: 5 nodes, expected at most 4, the number of hosts");
    EXPECT_EQ(limited({}, 5), "--num-gpus=X: 5 GPUs of w0, expected at most 4, its slots");
    EXPECT_EQ(limited({}, 2, {{"a"}}), "a:0,1") << "a host without slots gets them";
}

TEST(Selection, UnknownHostsAndSlots) {
    EXPECT_EQ(include("w9"), "--include=X: host w9, expected one of the 4 hosts that were given");
    EXPECT_EQ(exclude("w1:7"), "--exclude=X: slot 7 of w1, expected one of its 4 slots, from 0");
    EXPECT_EQ(include("w1:4"), "--include=X: slot 4 of w1, expected one of its 4 slots, from 0");
    EXPECT_EQ(include("a:1", {{"a"}, {"b", "", 2}}), "--include=X: slot 1 of a, expected one of its 1 slot, from 0")
        << "beside hosts with slots it has one";
    EXPECT_EQ(exclude("a:0", {{"a"}, {"b", "", 2}}), "b");
    EXPECT_EQ(include("a:6", {{"a"}}), "a:6") << "without a number of slots, any";
    EXPECT_EQ(exclude("a:6", {{"a"}}),
              "--exclude=X: slots of a, expected its number of slots where it is listed, as a:8");
}

TEST(Selection, ChoicesThatContradictEachOther) {
    const std::vector<HostChoice> w1{{"w1", {}}}, w2{{"w2", {}}};
    EXPECT_EQ(shown(select_hosts(kFour, {w1, w2, {}, {}}, spelling)),
              "--include=X and --exclude=X contradict each other, expected one of them");
    EXPECT_EQ(shown(select_hosts(kFour, {w1, {}, 2, {}}, spelling)),
              "--include=X and --num-nodes=X contradict each other, expected one of them");
    EXPECT_EQ(shown(select_hosts(kFour, {{}, w1, {}, 2}, spelling)),
              "--exclude=X and --num-gpus=X contradict each other, expected one of them");
}

}  // namespace
}  // namespace dlaunch::launcher
