#pragma once

#include <sys/types.h>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/process/children.hpp"
#include "agent/process/spawn.hpp"
#include "launcher/start/starter_command.hpp"
#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/loop.hpp"

namespace dlaunch::launcher {

/// The process of a launcher, an ssh for example, in a session of its own: a terminal's Ctrl-C must not end it before
/// the workers' grace is over. The kernel kills it when the front end dies.
class StarterProcess {
public:
    /// `ended` receives how the process ended: "ssh exited with 255". Called once; it may destroy the object.
    StarterProcess(base::Loop& loop, agent::Children& children, std::function<void(const std::string& how)> ended);
    ~StarterProcess();
    StarterProcess(const StarterProcess&) = delete;
    StarterProcess& operator=(const StarterProcess&) = delete;

    /// `path`: the PATH in which to look for the launcher. An error is the text of one line.
    [[nodiscard]] std::optional<std::string> begin(StarterCommand command, const std::string& path);
    void kill_now();
    [[nodiscard]] bool is_alive() const { return pid_ > 0; }
    /// The launcher's last lines of output, escaped.
    [[nodiscard]] std::string last_words() const;

private:
    void on_started();
    void on_output();
    void on_exit();
    void write_input();
    [[nodiscard]] std::string_view unwritten() const;
    void take(std::string_view bytes);

    base::Loop& loop_;
    agent::Children& children_;
    std::function<void(const std::string&)> ended_;
    std::optional<agent::Spawning> spawning_;
    std::string name_;
    pid_t pid_ = 0;
    base::UniqueFd pidfd_, output_, input_;
    std::shared_ptr<const std::string> program_;
    std::string unwritten_, partial_;
    std::size_t written_ = 0;  ///< bytes of program_ and unwritten_ together
    std::deque<std::string> lines_;
    base::Watch started_watch_, output_watch_, exit_watch_, input_watch_;
};

}  // namespace dlaunch::launcher
