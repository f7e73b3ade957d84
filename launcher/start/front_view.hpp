#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/logs/live/relay.hpp"
#include "agent/logs/screen.hpp"
#include "launcher/start/front_plan.hpp"
#include "launcher/start/messages.hpp"
#include "rendezvous/base/loop.hpp"

namespace dlaunch::launcher {

/// The live view of the workers of all hosts, on the front end's terminal. What hosts write to their standard error
/// passes as it is: the lines of processes that cannot use a dlaunch's own output.
class FrontView {
public:
    struct Options {
        bool colours = true;
        bool timestamps = false;
        bool reads_terminal = false;  ///< the workers get what the user types
        std::string prefix_template;  ///< of lines of several ranks
    };
    explicit FrontView(Options options);
    ~FrontView();

    /// This object must outlive the screen. To be called before all that follows.
    [[nodiscard]] agent::LiveMixer::Rules rules() const;
    void attach(agent::Screen& screen) { screen_ = &screen; }

    /// Whether to feed more of the host's bytes now.
    [[nodiscard]] bool may_feed(int host) const;
    void feed(int host, FrameKind stream, std::string_view bytes);
    /// The host's streams have ended.
    void end(int host);

private:
    class Host;

    [[nodiscard]] std::string prefix(const std::vector<int>& ranks) const;
    void show_progress();

    Options options_;
    agent::Screen* screen_ = nullptr;
    std::map<int, std::unique_ptr<Host>> hosts_;
    std::map<int, std::string> prefixes_;  ///< by rank, and by Host::key()
};

/// None: the front end's terminal, where there is one, shows plain lines.
[[nodiscard]] std::optional<FrontView::Options> view_options(const FrontPlan& plan);

/// Without the view: the streams on a terminal, kStdout and kStderr, of a job whose input the user types. Prompts are
/// shown there.
[[nodiscard]] unsigned typed_terminals(const FrontPlan& plan);

/// Of the whole job, from what each host knows of its own workers. `ended`: hosts whose dlaunch has ended; they count
/// as long as the job's round has as many nodes.
[[nodiscard]] agent::JobProgress progress_of_all(const std::vector<agent::JobProgress>& running,
                                                 const std::vector<agent::JobProgress>& ended);

}  // namespace dlaunch::launcher
