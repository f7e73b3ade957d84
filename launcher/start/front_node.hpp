#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/process/front_notice.hpp"
#include "launcher/start/frame_socket.hpp"
#include "launcher/start/front_plan.hpp"
#include "launcher/start/helper_process.hpp"
#include "launcher/start/last_words.hpp"
#include "rendezvous/base/time.hpp"

namespace dlaunch::launcher {

/// Of the latest round that is over on a host.
struct NodeWorkers {
    int round = -1;
    std::vector<agent::FrontNotice::Worker> ended{};
};

/// A host while the front end runs.
struct NodeState {
    static constexpr const char* kUnlisted = "it is not listed any more";
    FrontNode plan;
    std::unique_ptr<HelperProcess> starter;  ///< of srun: in the first host's state, for all
    LastWords last_words{};                  ///< of the starter
    int started_with = 0;                    ///< the host with the starter: this one, or srun's first
    std::unique_ptr<FrameSocket> socket;     ///< from its agent's hello to its end
    bool is_unlisted = false;                ///< by --host-discovery-script, before the job has begun there
    bool has_order = false;                  ///< the job runs there
    bool has_joined = false;                 ///< the coordinator has admitted it
    bool is_dismissed = false;               ///< the job was over before
    int beats_awaited = 0;                   ///< of that, since the order
    bool reads_input = false;                ///< one of its workers does
    int input_round = -1;                    ///< of the latest notice of that
    bool has_input_end = false;              ///< the end of the input was sent
    std::size_t input_credit = kInputCredit;
    NodeWorkers workers{};
    base::Time sent_at{};        ///< the latest output or file
    std::optional<NodeEnd> end;  ///< of its dlaunch, or the loss of the agent

    void signal(int number) const {
        socket->send(encode(FrameKind::signal, std::string(1, static_cast<char>(number))));
    }
};

}  // namespace dlaunch::launcher
