#include "rendezvous/store/core/output.hpp"

#include <gtest/gtest.h>

namespace dlaunch::store {
namespace {

const std::string kLarge(Value::kSharedBytes, 'L');

/// All bytes, as sent by a socket that accepts `step` bytes at a time.
std::string sent(Output output, std::size_t step, std::size_t most_parts) {
    std::string all;
    while (!output.empty()) {
        std::vector<iovec> parts(most_parts);
        const std::size_t count = output.gather(parts);
        std::string next;
        for (std::size_t i = 0; i < count; ++i)
            next.append(static_cast<const char*>(parts[i].iov_base), parts[i].iov_len);
        next.resize(std::min(step, next.size()));
        EXPECT_FALSE(next.empty());
        if (next.empty()) break;
        output.consume(next.size());
        all += next;
    }
    return all;
}

Output mixed() {
    Output output;
    output.vector(Value(kLarge));
    output.byte(1);
    output.u32(2);
    output.vector("small");
    output.vector(Value("value"));
    output.vector(Value(kLarge + "x"));
    output.vector(Value(kLarge + "yz"));
    output.raw(Value(kLarge + "raw"));
    output.raw(Value("end"));
    return output;
}

TEST(Output, leaves_in_order_however_it_is_cut) {
    const std::string all = mixed().text();
    EXPECT_EQ(all.size(), mixed().size());
    EXPECT_TRUE(all.ends_with("rawend"));
    for (const std::size_t step : {1UL, 2UL, 7UL, 8UL, 9UL, 1000UL, Value::kSharedBytes, 100'000UL})
        for (const std::size_t parts : {1UL, 2UL, 3UL, 64UL})
            EXPECT_EQ(sent(mixed(), step, parts), all) << step << " " << parts;
}

TEST(Output, text_returns_the_unconsumed_bytes) {
    Output output = mixed();
    const std::string all = output.text();
    output.consume(8 + Value::kSharedBytes / 2);
    EXPECT_EQ(output.text(), all.substr(8 + Value::kSharedBytes / 2));
    EXPECT_EQ(output.size(), output.text().size());
    output.consume(output.size());
    EXPECT_TRUE(output.empty());
    EXPECT_EQ(output.text(), "");
}

TEST(Output, large_values_are_not_copied) {
    const Value value(std::string(1 << 20, 'v'));
    Output output;
    for (int i = 0; i < 1000; ++i) output.vector(value);
    EXPECT_EQ(output.size(), 1000 * (8 + (1UL << 20)));
    EXPECT_EQ(value.shared().use_count(), 1002);
}

}  // namespace
}  // namespace dlaunch::store
