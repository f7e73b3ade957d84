#pragma once

#include <fmt/format.h>

#include <cstring>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace dlaunch::agent {

/// Collects warnings about output errors; a kind of error is reported once, however often it occurs.
class Warnings {
public:
    /// `about` and `error` (an errno) are the kind. The text: "log files: No space left on device (PATH); what
    /// they cannot take goes to the console".
    void add(const std::string& about, int error, const std::string& path, const std::string& consequence) {
        if (!reported_.emplace(about, error).second) return;
        const std::string where = path.empty() ? "" : " (" + path + ")";
        add(fmt::format("{}: {}{}; {}", about, std::strerror(error), where, consequence));
    }

    void add(std::string text) {
        fresh_.push_back(std::move(text));
        if (callback_) callback_();
    }

    void about_files(int error, const std::string& path) {
        add("log files", error, path, "what they cannot take goes to the console");
    }

    [[nodiscard]] std::vector<std::string> take() { return std::exchange(fresh_, {}); }
    void on_new(std::function<void()> callback) { callback_ = std::move(callback); }

private:
    std::set<std::pair<std::string, int>> reported_;
    std::vector<std::string> fresh_;
    std::function<void()> callback_;
};

}  // namespace dlaunch::agent
