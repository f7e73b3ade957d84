#include "rendezvous/discovery/etcd_wire.hpp"

#include <gtest/gtest.h>

namespace dlaunch::rendezvous::etcd {
namespace {

// The replies are those of etcd 3.4.

TEST(EtcdWire, AsksForAllKeysOfAPrefix) {
    EXPECT_EQ(range_request("/dlaunch/job/"), R"({"key":"L2RsYXVuY2gvam9iLw==","range_end":"L2RsYXVuY2gvam9iMA=="})");
}

TEST(EtcdWire, ReadsKeys) {
    const auto keys = range_reply(
        R"({"header":{"cluster_id":"1","revision":"7"},"kvs":[{"key":"L2E=","create_revision":"5","mod_revision":"6",)"
        R"("version":"2","value":"AAH/","lease":"7587877094655212550"},{"key":"L2I=","create_revision":"7","mod_revision":"7","version":"1"}],"count":"2"})");
    ASSERT_TRUE(keys) << keys.error().text;
    ASSERT_EQ(keys->size(), 2U);
    EXPECT_EQ((*keys)[0], (KeyValue{"/a", std::string("\0\x01\xff", 3), 5, 6, 7'587'877'094'655'212'550}));
    EXPECT_EQ((*keys)[1], (KeyValue{"/b", "", 7, 7, 0}));
}

TEST(EtcdWire, AFieldThatHasItsDefaultIsMissing) {
    const auto keys = range_reply(R"({"header":{"revision":"1"}})");
    ASSERT_TRUE(keys);
    EXPECT_TRUE(keys->empty());
    EXPECT_FALSE(*transaction_reply(R"({"header":{"revision":"1"},"responses":[]})"));
    EXPECT_EQ(*keep_alive_reply(R"({"result":{"header":{"revision":"1"},"ID":"77"}})"), 0) << "the lease has ended";
}

TEST(EtcdWire, WritesTransactions) {
    Transaction transaction;
    transaction.compares = {{.what = Compare::What::create_revision, .key = "/a"},
                            {.what = Compare::What::mod_revision, .key = "/b", .revision = 9},
                            {.what = Compare::What::value, .key = "/c", .value = "v"}};
    transaction.puts = {{"/a", "w", 12}};
    transaction.deletes = {"/c"};
    EXPECT_EQ(transaction_request(transaction),
              R"({"compare":[{"create_revision":"0","key":"L2E=","result":"EQUAL","target":"CREATE"},)"
              R"({"key":"L2I=","mod_revision":"9","result":"EQUAL","target":"MOD"},)"
              R"({"key":"L2M=","result":"EQUAL","target":"VALUE","value":"dg=="}],)"
              R"("success":[{"request_put":{"key":"L2E=","lease":"12","value":"dw=="}},)"
              R"({"request_delete_range":{"key":"L2M="}}]})");
    EXPECT_TRUE(*transaction_reply(R"({"header":{"revision":"3"},"succeeded":true,"responses":[{}]})"));
}

TEST(EtcdWire, ReadsLeases) {
    EXPECT_EQ(grant_request(5), R"({"TTL":"5"})");
    EXPECT_EQ(*grant_reply(R"({"header":{"revision":"1"},"ID":"7587877094655212552","TTL":"5"})"),
              7'587'877'094'655'212'552);
    EXPECT_EQ(lease_request(12), R"({"ID":"12"})");
    EXPECT_EQ(*keep_alive_reply(R"({"result":{"header":{"revision":"1"},"ID":"12","TTL":"5"}})"), 5);
}

TEST(EtcdWire, WhatIsNoReplyIsAnError) {
    for (const char* body : {"", "[]", "<html>", "{}", "null", R"({"header")"}) {
        EXPECT_FALSE(range_reply(body)) << body;
        EXPECT_FALSE(transaction_reply(body)) << body;
        EXPECT_FALSE(grant_reply(body)) << body;
        EXPECT_FALSE(keep_alive_reply(body)) << body;
        EXPECT_FALSE(authenticate_reply(body)) << body;
    }
    EXPECT_FALSE(range_reply(R"({"header":{},"kvs":[{"key":"!"}]})"));
}

TEST(EtcdWire, ReadsRefusals) {
    const auto refusal = refusal_of(
        401, R"({"error":"etcdserver: invalid auth token","code":16,"message":"etcdserver: invalid auth token"})");
    EXPECT_EQ(refusal.text, "etcdserver: invalid auth token");
    EXPECT_TRUE(refusal.wants_authentication());
    EXPECT_TRUE(refusal_of(400, R"({"error":"etcdserver: user name is empty","code":3})").wants_authentication());
    const auto wrong =
        refusal_of(400, R"({"message":"etcdserver: authentication failed, invalid user ID or password","code":3})");
    EXPECT_FALSE(wrong.wants_authentication());
    EXPECT_EQ(refusal_of(404, "404 page not found").text, "HTTP status 404, expected the API v3 of etcd 3.4 or newer");
}

TEST(EtcdWire, Authenticates) {
    EXPECT_EQ(authenticate_request("root", "a\"b"), R"({"name":"root","password":"a\"b"})");
    EXPECT_EQ(*authenticate_reply(R"({"header":{},"token":"x.7"})"), "x.7");
}

}  // namespace
}  // namespace dlaunch::rendezvous::etcd
