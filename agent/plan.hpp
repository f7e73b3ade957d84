#pragma once
/// The agent's input from the launcher: plain data, complete and checked. The agent parses no options, and reads no
/// environment variables of its own.

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/mpi/family.hpp"
#include "rendezvous/auth/token.hpp"
#include "rendezvous/net/endpoint.hpp"

namespace dlaunch::agent {

/// NAME -> value pairs, each name once.
using Variables = std::vector<std::pair<std::string, std::string>>;

/// This machine and the environment in which dlaunch was started, read once.
struct Host {
    std::string name;       ///< as gethostname(2) returns it
    int usable_cores = 1;   ///< size of the affinity mask
    Variables environment;  ///< inherited by the workers

    /// None if unset; may be empty.
    [[nodiscard]] std::optional<std::string> variable(std::string_view wanted) const {
        for (const auto& [known, value] : environment)
            if (known == wanted) return value;
        return std::nullopt;
    }
    [[nodiscard]] bool is_set(std::string_view wanted) const { return set_variable(wanted).has_value(); }
    /// None if unset or empty.
    [[nodiscard]] std::optional<std::string> set_variable(std::string_view wanted) const {
        auto value = variable(wanted);
        return value && !value->empty() ? value : std::nullopt;
    }
};

/// --wrap RANKS:COMMAND. `words` may hold ${rank} and ${local_rank}; the program and its arguments follow them.
struct Wrap {
    std::optional<std::set<int>> ranks;  ///< global ranks; none: all
    std::vector<std::string> words;
};

/// Makers of accelerators. --nproc-per-node=auto looks for their devices in this order.
enum class Vendor { nvidia, amd, intel, habana, ascend };

/// What the workers of one context execute.
struct Program {
    std::vector<std::string> command;  ///< argv of a worker before --wrap; command[0] is looked up in PATH
    bool is_python = false;            ///< command is PYTHON -u ...
    std::size_t name_index = 0;        ///< position in `command` of the user's program or module
    std::string not_found_hint;        ///< appended to the error if PATH has no such program: "; did you mean ...?"
    std::string role = "default";
    Variables environment;          ///< --env
    std::string working_directory;  ///< --chdir; empty: the agent's
    std::vector<Wrap> wraps;
    MpiFamily mpi = MpiFamily::none;  ///< the same in all contexts of a job that have one

    /// The user's program without its folder, or the module's name.
    [[nodiscard]] std::string name() const {
        if (name_index >= command.size()) return {};
        const std::string& path = command[name_index];
        return path.substr(path.find_last_of('/') + 1);
    }
};

/// A program with its workers on this node. A job has one context, or several side by side: `a : b`.
struct Context {
    Program program;
    int workers = 1;
    int appnum = 0;  ///< place among the job's contexts; a node may lack some of them
};

/// Bits of a set of output streams; the numbers are torchrun's.
enum Stream : unsigned { kStdout = 1, kStderr = 2 };

/// -r and -t: streams by local rank.
struct StreamChoice {
    unsigned others = 0;  ///< for local ranks without an entry
    std::map<int, unsigned> by_rank;

    [[nodiscard]] unsigned of(int local_rank) const {
        auto found = by_rank.find(local_rank);
        return found == by_rank.end() ? others : found->second;
    }
};

struct LogPlan {
    std::string directory;               ///< --log-dir; empty: the run has a folder of its own in $TMPDIR
    int keep_runs = 0;                   ///< newest runs in that folder that stay; 0: 20 in $TMPDIR, else all
    StreamChoice redirects;              ///< to a file only
    StreamChoice tee;                    ///< to a file and, with a prefix, to the console
    std::optional<std::set<int>> shown;  ///< --local-ranks-filter: local ranks with output on the console
    std::vector<std::string> stdout_filters, stderr_filters;  ///< substrings of lines copied to filtered_*.log
    std::string prefix_template = "[${role_name}${local_rank}]:";
    std::string short_template = "[${rank}] ";  ///< of the live view, and of `prefixed`
    bool live = false;                          ///< on a terminal, where several workers have one console
    bool relayed = false;                       ///< the front end has the live view: logs/live/relay.hpp
    int front_terminals = 0;                    ///< kStdout, kStderr: shown there by a front end whose input is typed
    bool prefixed = false;                      ///< a prefix for streams without a file, too
    std::optional<bool> terminals;  ///< a terminal for each worker; none: for programs other than Python in a live view
    bool colours = true;            ///< on a terminal
    bool timestamps = false;        ///< ISO 8601, UTC, ms, before the prefix
    bool fold = false;              ///< print equal lines of several ranks once
    std::uint64_t rotate_bytes = 0;  ///< size at which a file becomes .1, .2 ...; 0: never
    int rotate_keep = 5;             ///< number of rotated files kept beside the current one

    /// The local rank with the redirections and filters for this one: a template (negative) takes those of the lowest
    /// rank that may use the console.
    [[nodiscard]] int stands_for(int local_rank) const {
        if (local_rank >= 0) return local_rank;
        return shown && !shown->empty() ? *shown->begin() : 0;
    }
    [[nodiscard]] bool hides(int local_rank) const { return shown && !shown->contains(stands_for(local_rank)); }
    [[nodiscard]] bool is_on_console(int local_rank, Stream stream) const {
        const int of = stands_for(local_rank);
        return !hides(of) && ((tee.of(of) & stream) || !(redirects.of(of) & stream));
    }
    [[nodiscard]] bool has_file(int local_rank, Stream stream) const {
        return ((tee.of(local_rank) | redirects.of(local_rank)) & stream) != 0;
    }

    /// Whether the job writes log files (else only error files, in a temporary folder).
    [[nodiscard]] bool keeps_files() const {
        if (redirects.others | tee.others) return true;
        for (const auto* choice : {&redirects, &tee})
            for (auto [rank, streams] : choice->by_rank)
                if (streams) return true;
        return !stdout_filters.empty() || !stderr_filters.empty();
    }
};

/// Standard input of the workers.
struct StdinPlan {
    enum class Mode {
        automatic,
        none,
        rank,
        all
    } mode =
        Mode::automatic;  ///< automatic: a single worker reads the agent's, and so does rank 0 of several MPI processes
    int rank = 0;         ///< global rank, for Mode::rank
};

enum class Binding { none, cores, numa, socket, exclusive, core_complex };

struct RestartPlan {
    int max_restarts = 0;
    /// Rounds that end within `healthy` of their start are quick failures. After the first one the job restarts at
    /// once; before each further restart in a row there is a pause, which doubles from `first` up to `most`.
    std::chrono::milliseconds first{100}, most{30'000};
    std::chrono::milliseconds healthy{10'000};
    /// So many quick rounds in a row with the same kind of end are a crash loop (status 93): failures of one kind and
    /// code, of any rank, or losses of nodes; 0: never.
    int crash_loop = 10;
    /// A host lost three times within ten minutes is not admitted for `cooldown_first`, doubled with each further loss
    /// up to `cooldown_most`; 0: no cool-down.
    std::chrono::milliseconds cooldown_first{10'000}, cooldown_most{300'000};
};

/// When a late node is admitted to an elastic job.
enum class ScaleUp { immediate, on_restart, never };

/// torchrun's --rdzv-backend.
enum class Backend { fixed_address, c10d };  ///< "static", "c10d" and "etcd"

/// How workers reach their round's store (--store): automatic is a relay with a token, else open.
enum class StorePath { automatic, open, relay };

/// The rendezvous of the job's nodes.
struct RendezvousPlan {
    int min_nodes = 1, max_nodes = 1;
    Backend backend = Backend::fixed_address;
    rendezvous::Endpoints endpoints;  ///< places of the coordinator
    std::string endpoint;             ///< --rdzv-endpoint as given, for messages; empty: --master-addr was used
    std::optional<bool> is_host;      ///< is_host of --rdzv-conf: whether this node hosts the coordinator
    std::string job_id;               ///< never empty
    std::optional<int> node_rank;
    std::string order_key;    ///< this node's index in the scheduler's allocation; empty: none
    std::string master_addr;  ///< fixed_address only; empty: choose
    std::optional<int> master_port;
    std::string local_addr;  ///< the address this node advertises; empty: choose
    ScaleUp scale_up = ScaleUp::immediate;
    std::chrono::milliseconds join_timeout{600'000};    ///< for enough nodes to join
    std::chrono::milliseconds answer_timeout{600'000};  ///< for the coordinator's first answer
    std::chrono::milliseconds rejoin_timeout{60'000};   ///< for a node to find a lost coordinator again
    std::chrono::milliseconds last_call{30'000};        ///< for further nodes after min_nodes have joined
    std::chrono::milliseconds node_timeout{5'000};      ///< silence after which a node counts as lost
    std::vector<std::string> expected_hosts;            ///< all nodes of a scheduler's allocation; else empty
    bool standalone = true;                             ///< a job of one node, which no other can join
    auth::TokenPtr token;                               ///< null: an open job
    bool may_be_open = false;                           ///< by the user's word: no line says that it is
    StorePath store = StorePath::automatic;

    [[nodiscard]] bool relays_store() const {
        return store == StorePath::relay || (store == StorePath::automatic && token);
    }
};

/// torchrun's file timers: workers write deadlines into a FIFO.
struct TimerPlan {
    bool enabled = false;  ///< TORCHELASTIC_ENABLE_FILE_TIMER=1
    std::string path;      ///< TORCHELASTIC_TIMER_FILE; empty: choose
};

/// The scheduler's tasks on this node. The first one is the agent; the other tasks wait for its end.
struct TaskPlan {
    std::string socket;  ///< name of the socket at which they wait (process/status_socket.hpp)
    int count = 1;
    int index = 0;  ///< of this task
};

/// The scheduler's commands after an end by SIGTERM (--requeue).
struct RequeuePlan {
    std::vector<std::string> question;  ///< shows the state of the job, which tells why it ends
    std::vector<std::string> order;     ///< empty: none
    bool operator==(const RequeuePlan&) const = default;
};

struct Plan {
    Host host;
    std::vector<std::string> command_line;  ///< of dlaunch, for the report
    std::vector<Context> contexts{{}};      ///< ascending in appnum, never empty; local ranks count through them
    bool virtual_local_rank = false;        ///< every worker sees a single device
    Vendor vendor = Vendor::nvidia;         ///< of the devices that virtual local ranks distribute
    std::string local_rank_option;          ///< precedes the program's arguments with the local rank; empty: none does
    bool forks = false;                     ///< workers are forked from a template, see services/template.hpp
    bool use_cgroups = true;                ///< false with DLAUNCH_NO_CGROUP=1: sweeps alone find processes
    std::string temporary_folder = "/tmp";  ///< absolute path: $TMPDIR where that is set
    std::string runtime_folder;             ///< $XDG_RUNTIME_DIR if it is an absolute path; else empty
    TimerPlan timers;
    StdinPlan standard_input;
    LogPlan logs;
    RestartPlan restarts;
    RendezvousPlan rendezvous;
    TaskPlan tasks;
    RequeuePlan requeue;
    Binding binding = Binding::none;
    std::vector<int> handled_signals;  ///< signals that end the job
    std::string handled_signals_text;  ///< as given: TORCHELASTIC_SIGNALS_TO_HANDLE
    int stop_signal = 15;              ///< sent to the workers after a failure
    std::chrono::milliseconds grace{30'000};
    std::chrono::milliseconds settle{1'000};  ///< the wait for a better cause than a lost peer; 0: none
    std::chrono::milliseconds timeout{0};     ///< of the whole job; 0: none
    bool reports_own_only = false;            ///< print the report only on the node of the first cause
    static constexpr const char* kStandardOutput = "-";
    std::string report_file;       ///< --report; empty: none; may be kStandardOutput
    std::string event_log;         ///< --event-log; likewise
    std::string agent_error_file;  ///< the agent's own TORCHELASTIC_ERROR_FILE; empty: none
    int verbosity = 0;             ///< -1 quiet, 0, 1 verbose; -1 also where another node prints for all
    bool is_quiet = false;         ///< --quiet
    bool has_front_end = false;    ///< a front end hosts the coordinator and prints the report
    int front_notices = -1;        ///< the front end's pipe for process/front_notice.hpp; -1: none

    /// A message about this node. Those of a front end's nodes appear side by side, and have the host's name.
    [[nodiscard]] std::string with_host(const std::string& text) const {
        return has_front_end ? "host " + host.name + ": " + text : text;
    }

    /// On this node, of all contexts.
    [[nodiscard]] int workers() const {
        int total = 0;
        for (const Context& context : contexts) total += context.workers;
        return total;
    }
    /// The context of a worker of this node.
    [[nodiscard]] const Context& context_of(int local_rank) const {
        const Context* found = &contexts.front();
        for (int first = 0; const Context& context : contexts) {
            if (local_rank >= first) found = &context;
            first += context.workers;
        }
        return *found;
    }
    /// Of all contexts, as the user named programs and modules: "./ps : ./train".
    [[nodiscard]] std::string program_names() const {
        std::string names;
        for (const Context& context : contexts) {
            const Program& program = context.program;
            if (!names.empty()) names += " : ";
            if (program.name_index < program.command.size()) names += program.command[program.name_index];
        }
        return names;
    }
};

}  // namespace dlaunch::agent
