#include "launcher/cli/rdzv_conf.hpp"

#include <gtest/gtest.h>

namespace dlaunch::launcher {
namespace {

using namespace std::chrono_literals;

std::string error_of(std::string_view text) {
    const auto parsed = parse_rdzv_conf(text);
    return parsed ? "none" : parsed.error().text;
}

TEST(RdzvConf, is_a_list_of_pairs) {
    EXPECT_EQ(parse_rdzv_conf("join_timeout=30, cert = /a=b ,join_timeout=31")->join_timeout, 31s);
    EXPECT_FALSE(parse_rdzv_conf(" ")->join_timeout);
    for (const char* text : {"join_timeout", "=1", "rank=", "rank=1,", ",rank=1"})
        EXPECT_EQ(error_of(text), "expected KEY=VALUE,KEY=VALUE") << text;
}

TEST(RdzvConf, takes_every_key_of_torchruns_backends) {
    for (const char* text :
         {"join_timeout=600,last_call_timeout=0,close_timeout=30,heartbeat_timeout=5,read_timeout=60",
          "keep_alive_interval=5,keep_alive_max_attempt=3,cas_backoff_max_seconds=0.5,store_type=tcp,use_libuv=1",
          "timeout=900,rank=0,rejoin_timeout=1",
          "etcd_prefix=/p,protocol=https,cert=a,key=b,cacert=c,ssl_cert=d,ssl_cert_key=e,ca_cert=f"})
        EXPECT_EQ(error_of(text), "none") << text;
}

TEST(RdzvConf, tells_how_etcd_is_reached) {
    const auto conf = parse_rdzv_conf("protocol=https,cacert=/ca,cert=/c,key=/k,etcd_prefix=/jobs/");
    EXPECT_TRUE(conf->https);
    EXPECT_EQ(conf->authorities, "/ca");
    EXPECT_EQ(conf->certificate, "/c");
    EXPECT_EQ(conf->key, "/k");
    EXPECT_EQ(conf->etcd_prefix, "/jobs");
    EXPECT_EQ(parse_rdzv_conf("ssl_cert=/c,ssl_cert_key=/k,ca_cert=/ca")->authorities, "/ca");
    EXPECT_EQ(error_of("protocol=ftp"), "protocol=ftp: expected http or https");
    EXPECT_EQ(error_of("etcd_prefix=jobs"), "etcd_prefix=jobs: expected a prefix of keys, as /jobs");
}

TEST(RdzvConf, truth_values_are_written_in_many_ways) {
    for (const char* yes : {"1", "true", "True", "TRUE", "t", "yes", "Y", "on"})
        EXPECT_EQ(parse_rdzv_conf(std::string("is_host=") + yes)->is_host, true) << yes;
    for (const char* no : {"0", "false", "F", "no", "n"})
        EXPECT_EQ(parse_rdzv_conf(std::string("is_host=") + no)->is_host, false) << no;
    EXPECT_EQ(error_of("is_host=ture"), "is_host=ture: expected 1 or 0");
    EXPECT_EQ(error_of("use_libuv=2"), "use_libuv=2: expected 1 or 0");
}

TEST(RdzvConf, a_wrong_value_is_named) {
    EXPECT_EQ(error_of("join_timeout=soon"), "join_timeout=soon: expected a number of seconds above 0");
    EXPECT_EQ(error_of("join_timeout=0"), "join_timeout=0: expected a number of seconds above 0");
    EXPECT_EQ(error_of("last_call_timeout=-1"), "last_call_timeout=-1: expected a number of seconds from 0");
    EXPECT_EQ(error_of("keep_alive_max_attempt=0"), "keep_alive_max_attempt=0: expected a number from 1");
    EXPECT_EQ(error_of("rank=one"), "rank=one: expected a number from 0");
    EXPECT_EQ(error_of("store_type=file"),
              "store_type=file: expected tcp; nodes that share a folder use file:///FOLDER as endpoint");
    EXPECT_EQ(error_of("store_type=x"), "store_type=x: expected tcp");
}

TEST(RdzvConf, an_unknown_key_is_a_warning) {
    const auto conf = parse_rdzv_conf("jion_timeout=3,xyzzy=3,\x1b[1m=1,last_call_timeout=2");
    EXPECT_EQ(conf->warnings,
              (std::vector<std::string>{"unknown key jion_timeout is ignored; did you mean join_timeout?",
                                        "unknown key xyzzy is ignored", "unknown key \\x1b[1m is ignored"}));
    EXPECT_EQ(conf->last_call_timeout, 2s);
}

TEST(RdzvConf, may_stand_in_quotes_that_no_shell_removed) {
    const auto conf = parse_rdzv_conf("'join_timeout=5,last_call_timeout=1'");
    EXPECT_EQ(conf->join_timeout, 5s);
    EXPECT_EQ(conf->last_call_timeout, 1s);
    EXPECT_TRUE(conf->warnings.empty());
}

}  // namespace
}  // namespace dlaunch::launcher
