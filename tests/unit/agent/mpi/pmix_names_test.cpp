#include "agent/mpi/pmix_names.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

namespace dlaunch::agent {
namespace {

using Kind = PmixMessage::Kind;
using Strings = std::vector<std::string>;

/// Stands in for the library: packs strings, and nothing else.
pmix_status_t pack(const pmix_proc_t*, pmix_data_buffer_t* buffer, void* source, std::int32_t, pmix_data_type_t) {
    const auto& value = *static_cast<pmix_value_t*>(source);
    if (value.type != PMIX_STRING) return PMIX_ERR_NOT_SUPPORTED;
    buffer->base_ptr = strdup(value.data.string);
    buffer->bytes_used = std::strlen(value.data.string);
    return PMIX_SUCCESS;
}

pmix_status_t unpack(const pmix_proc_t*, pmix_data_buffer_t* buffer, void* target, std::int32_t*, pmix_data_type_t) {
    auto& value = *static_cast<pmix_value_t*>(target);
    value.type = PMIX_STRING;
    value.data.string = strndup(buffer->unpack_ptr, buffer->bytes_used);
    return PMIX_SUCCESS;
}

void destruct(pmix_value_t* value) { std::free(value->data.string); }

class PmixNamesTest : public testing::Test {
protected:
    static void note(pmix_status_t status, void* to) { static_cast<PmixNamesTest*>(to)->status = status; }
    static void note_found(pmix_status_t status, pmix_pdata_t* data, std::size_t count, void* to) {
        auto& test = *static_cast<PmixNamesTest*>(to);
        test.status = status;
        for (std::size_t at = 0; at < count; ++at)
            test.found.push_back(std::string(data[at].key) + "=" + data[at].value.data.string + " by " +
                                 data[at].proc.nspace + ":" + std::to_string(data[at].proc.rank));
    }
    static pmix_info_t info(const char* key, const char* value) {
        pmix_info_t made{};
        std::strncpy(made.key, key, PMIX_MAX_KEYLEN);
        made.value.type = PMIX_STRING;
        made.value.data.string = const_cast<char*>(value);
        return made;
    }
    static pmix_info_t persistence(pmix_persistence_t value) {
        pmix_info_t made = info(PMIX_PERSISTENCE, nullptr);
        made.value.type = PMIX_PERSIST;
        made.value.data.persist = value;
        return made;
    }
    static pmix_info_t number(const char* key, int value) {
        pmix_info_t made = info(key, nullptr);
        made.value.type = PMIX_INT;
        made.value.data.integer = value;
        return made;
    }
    void publish(std::vector<pmix_info_t> infos) { names.publish(by, infos.data(), infos.size(), note, this); }
    void look_up(Strings wanted, std::vector<pmix_info_t> infos = {}) {
        std::vector<char*> list;
        for (std::string& name : wanted) list.push_back(name.data());
        list.push_back(nullptr);
        names.look_up(by, list.data(), infos.data(), infos.size(), note_found, this);
    }
    void reply(std::size_t question, const char* done, const char* value = "") {
        replies[question]({Kind::named, {"1", done, value}});
    }

    const PmixLibrary library{.pack = pack, .unpack = unpack, .destruct_value = destruct};
    const pmix_proc_t by{"space", 3};
    std::vector<PmixMessage> questions;
    std::vector<std::function<void(const PmixMessage&)>> replies;
    PmixNames names{library, [this](Kind kind, Strings fields, std::function<void(const PmixMessage&)> answer) {
                        questions.push_back({kind, std::move(fields)});
                        replies.push_back(std::move(answer));
                    }};
    std::optional<pmix_status_t> status;  ///< of the last call that has ended
    Strings found;
};

TEST_F(PmixNamesTest, a_call_ends_when_all_its_names_are_published) {
    publish({info("sea", "port"), number(PMIX_RANGE, 4), info("pmix.lake", "quay")});
    EXPECT_EQ(questions, (std::vector<PmixMessage>{{Kind::publish, {"3", "sea", "3 port", "0"}},
                                                   {Kind::publish, {"3", "pmix.lake", "3 quay", "0"}}}));
    reply(0, "1");
    EXPECT_FALSE(status);
    reply(1, "1");
    EXPECT_EQ(status, PMIX_SUCCESS);
}

TEST_F(PmixNamesTest, a_name_of_another_value_is_an_error) {
    publish({info("sea", "port"), info("lake", "quay")});
    reply(0, "0");
    reply(1, "1");
    EXPECT_EQ(status, PMIX_ERR_DUPLICATE_KEY);
}

TEST_F(PmixNamesTest, a_value_may_be_for_one_reader) {
    publish({info("sea", "port"), persistence(PMIX_PERSIST_FIRST_READ)});
    publish({info("sea", "port"), persistence(PMIX_PERSIST_APP)});
    EXPECT_EQ(questions[0].text(3), "1");
    EXPECT_EQ(questions[1].text(3), "0");
}

TEST_F(PmixNamesTest, what_the_library_cannot_pack_is_refused) {
    publish({number("sea", 5)});
    EXPECT_EQ(status, PMIX_ERR_NOT_SUPPORTED);
    publish({number(PMIX_RANGE, 4)});
    EXPECT_EQ(status, PMIX_ERR_BAD_PARAM);
    EXPECT_TRUE(questions.empty());
}

TEST_F(PmixNamesTest, a_value_comes_with_its_publisher) {
    look_up({"sea"});
    EXPECT_EQ(questions, (std::vector<PmixMessage>{{Kind::look_up, {"3", "sea", "0", "0"}}}));
    reply(0, "1", "12 port 7");
    EXPECT_EQ(status, PMIX_SUCCESS);
    EXPECT_EQ(found, Strings{"sea=port 7 by space:12"});
}

TEST_F(PmixNamesTest, some_names_may_be_unknown) {
    look_up({"sea", "lake"});
    reply(1, "1", "0 quay");
    reply(0, "0");
    EXPECT_EQ(status, PMIX_ERR_PARTIAL_SUCCESS);
    EXPECT_EQ(found, Strings{"lake=quay by space:0"});
    look_up({"sea"});
    reply(2, "0");
    EXPECT_EQ(status, PMIX_ERR_NOT_FOUND);
}

TEST_F(PmixNamesTest, a_wait_may_have_a_limit) {
    look_up({"sea"}, {number(PMIX_WAIT, 0), number(PMIX_TIMEOUT, 60)});
    EXPECT_EQ(questions, (std::vector<PmixMessage>{{Kind::look_up, {"3", "sea", "1", "60"}}}));
    reply(0, "0");
    EXPECT_EQ(status, PMIX_ERR_TIMEOUT);
}

TEST_F(PmixNamesTest, a_wait_for_a_port_that_none_can_open_ends_at_once) {
    for (const char* port : {"garbage", "", ":", "3.:7", "3.0:x", ".0:7", "tag#0$port#1", "30:7"}) {
        status.reset();
        look_up({std::string(port) + ":accept"}, {number(PMIX_WAIT, 0), number(PMIX_TIMEOUT, 60)});
        EXPECT_EQ(status, PMIX_ERR_NOT_FOUND) << port;
    }
    EXPECT_TRUE(questions.empty());
    look_up({"3565965622.0:1753775532:accept"}, {number(PMIX_WAIT, 0)});
    look_up({"space@1.12:7:connect"}, {number(PMIX_WAIT, 0)});
    look_up({"garbage:accept"});
    EXPECT_EQ(questions.size(), 3U);
}

TEST_F(PmixNamesTest, a_side_of_another_jobs_port_is_refused) {
    const char* self = "3565965622.3:dlaunch-1";
    for (const char* name : {"3565965623.0:7:connect", "356.0:7:accept"}) {
        status.reset();
        publish({info(name, self), persistence(PMIX_PERSIST_FIRST_READ)});
        EXPECT_EQ(status, PMIX_ERR_NOT_FOUND) << name;
    }
    EXPECT_TRUE(questions.empty());
    publish({info("3565965622.0:7:connect", self)});
    publish({info("3565965622.0:7:nextcid:recv:0", "6.3:x")});
    publish({info("space@1.0:7:connect", "other form")});
    publish({info("356.0:7", self)});
    EXPECT_EQ(questions.size(), 4U);
}

TEST_F(PmixNamesTest, names_are_unpublished_whether_they_are_known_or_not) {
    char name[] = "sea";
    char* list[] = {name, nullptr};
    names.unpublish(by, list, note, this);
    EXPECT_EQ(questions, (std::vector<PmixMessage>{{Kind::unpublish, {"3", "sea"}}}));
    reply(0, "0");
    EXPECT_EQ(status, PMIX_SUCCESS);
    names.unpublish(by, nullptr, note, this);
    EXPECT_EQ(status, PMIX_ERR_NOT_SUPPORTED);
}

}  // namespace
}  // namespace dlaunch::agent
