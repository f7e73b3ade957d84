#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "agent/logs/lines.hpp"

namespace dlaunch::agent {

/// Two sources, a and b, of one mixer; no console and no clock.
class Lines : public testing::Test {
protected:
    LineMixer& mixer(LineMixer::Rules rules) {
        mixer_ = std::make_unique<LineMixer>(std::move(rules), queue_);
        a_ = mixer_->add({0, 0, "a:"});
        b_ = mixer_->add({1, 0, "b:"});
        return *mixer_;
    }
    LineMixer& mixer() { return mixer(LineMixer::Rules{}); }

    void a(std::string_view bytes) { mixer_->feed(a_, bytes, now_); }
    void b(std::string_view bytes) { mixer_->feed(b_, bytes, now_); }

    /// The bytes shown since the last call.
    std::string shown() {
        std::string text(queue_.view());
        queue_.clear();
        return text;
    }

    ByteQueue queue_;
    std::unique_ptr<LineMixer> mixer_;
    LineMixer::Source* a_ = nullptr;
    LineMixer::Source* b_ = nullptr;
    base::Time now_{std::chrono::hours(1)};
};

}  // namespace dlaunch::agent
