#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/logs/logs.hpp"
#include "agent/logs/prefix.hpp"
#include "agent/logs/screen.hpp"

namespace dlaunch::agent {

/// The console of an agent: one screen, or one for each of stdout and stderr, and the prefixes of lines.
class Screens {
public:
    /// `options` and `warnings` must outlive this object. `on_change` as for Screen.
    Screens(base::Loop& loop, const Logs::Options& options, Warnings& warnings, const std::function<void()>& on_change);

    /// The live view, on this terminal or the front end's.
    [[nodiscard]] bool is_live() const { return is_live_; }
    [[nodiscard]] Screen& of(Stream stream) { return stream == kStderr && err_ ? *err_ : *out_; }
    template <class Action>
    void for_each(Action action) {
        for (Screen* each : {out_.get(), err_.get()})
            if (each) action(*each);
    }

    /// The size for the terminal of a worker: the console's without the prefix of lines, else the usual one.
    [[nodiscard]] WindowSize worker_window() const;

    /// The worker's rank in this round. To be called before line().
    void set_rank(const LogSource& source);
    /// The treatment of a stream that the console shows.
    [[nodiscard]] LineSource line(const LogSource& source, Stream stream) const;
    [[nodiscard]] bool reads_terminal(const LogSource& source, Stream stream) const;
    /// The prefix in filtered files.
    [[nodiscard]] std::string file_prefix(const LogSource& source) const { return prefix(source, prefixes_); }

private:
    [[nodiscard]] static std::string prefix(const LogSource& source, const LinePrefixes& by);
    [[nodiscard]] LineMixer::Rules rules(int fd) const;
    [[nodiscard]] LiveMixer::Rules live_rules() const;

    const Logs::Options& options_;
    bool is_raw_, is_live_;
    LinePrefixes prefixes_, short_prefixes_;
    std::unique_ptr<Screen> out_, err_;  ///< err_ is null when both have one destination
};

}  // namespace dlaunch::agent
