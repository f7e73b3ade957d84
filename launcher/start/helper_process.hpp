#pragma once

#include <csignal>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/process/child_program.hpp"
#include "agent/process/children.hpp"
#include "rendezvous/base/fd.hpp"
#include "rendezvous/base/loop.hpp"

namespace dlaunch::launcher {

/// A program that works for the front end: a launcher (ssh), or the script that prints hosts. It has a session of its
/// own: a terminal's Ctrl-C must not end an ssh before the workers' grace is over. The kernel ends it when the front
/// end dies.
class HelperProcess {
public:
    struct Command {
        std::vector<std::string> words;                ///< argv; words[0] is looked up in PATH
        std::vector<std::string> variables{};          ///< "NAME=VALUE", on top of the front end's
        std::shared_ptr<const std::string> program{};  ///< for its standard input, before `input`; null: none
        std::string input{};
        int end_signal = SIGKILL;   ///< of end(), and from the kernel when the front end dies
        bool merges_errors = true;  ///< its standard error is read like its output; else it is the front end's
    };
    struct End {
        std::optional<int> status;  ///< as in a shell; none: it could not be started
        std::string text;           ///< "ssh exited with 255"
    };
    struct Handlers {
        std::function<void(std::string_view bytes)> output;
        std::function<void(const End& end)> ended;  ///< once; it may destroy the object
    };

    /// Destruction kills it.
    HelperProcess(base::Loop& loop, agent::Children& children, Handlers handlers);

    /// `path`: the PATH in which to look for the program. An error reaches Handlers::ended, later.
    void begin(Command command, const std::string& path);
    [[nodiscard]] bool is_running() const { return handlers_.ended != nullptr; }
    /// Sends Command::end_signal, also to its children.
    void end() { child_.signal(end_signal_); }

private:
    std::optional<std::string> spawn(Command& command, const std::string& path);
    void on_output();
    void on_end(const agent::ChildProgram::End& how);
    void write_input();
    [[nodiscard]] std::string_view unwritten() const;

    base::Loop& loop_;
    Handlers handlers_;
    agent::ChildProgram child_;
    std::string name_;
    int end_signal_ = SIGKILL;
    base::UniqueFd output_, input_;
    std::shared_ptr<const std::string> program_;
    std::string rest_;         ///< of the input, after program_
    std::size_t written_ = 0;  ///< bytes of program_ and rest_ together
    base::Watch output_watch_, input_watch_;
    base::Timer failed_;
};

}  // namespace dlaunch::launcher
