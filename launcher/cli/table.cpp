#include "launcher/cli/table.hpp"

#include <algorithm>
#include <cctype>

namespace dlaunch::launcher {
namespace {

// The help texts serve --help and the man page: whole sentences are for the latter's other sections.
// A `fallback` must be what the option's parser takes and what the plan has without it; a test compares the two.
// One field per line would hide the table.
// clang-format off
constexpr Option kOptions[] = {
    // --- size of the job ---
    {.id = Id::nnodes, .name = "nnodes", .value = "N|MIN:MAX", .fallback = "1:1", .group = Group::job,
     .help = "nodes of the job: so many, or at least MIN and at most MAX", .torchrun = true, .pet = true},
    {.id = Id::nproc_per_node, .name = "nproc-per-node", .value = "N|auto|cpu|gpu", .fallback = "1", .group = Group::job,
     .help = "workers on this node; auto: one per GPU, else one per usable core; cpu: one per usable core; gpu: one per GPU",
     .torchrun = true, .pet = true},
    {.id = Id::role, .name = "role", .value = "NAME", .fallback = "default", .group = Group::job,
     .help = "name of the workers' role, seen in ROLE_NAME and in log prefixes", .torchrun = true, .pet = true},

    // --- what runs ---
    {.id = Id::module, .name = "module", .letter = 'm', .group = Group::program,
     .help = "PROGRAM is a Python module: run as python -u -m PROGRAM", .torchrun = true, .pet = true},
    {.id = Id::no_python, .name = "no-python", .group = Group::program,
     .help = "execute PROGRAM directly, even if its name ends in .py", .torchrun = true, .pet = true},
    {.id = Id::run_path, .name = "run-path", .group = Group::program,
     .help = "run PROGRAM with Python, whatever its name ends in", .torchrun = true, .pet = true},
    {.id = Id::env, .name = "env", .value = "NAME=VALUE", .group = Group::program,
     .help = "set a variable for the workers; may be repeated", .repeatable = true},
    {.id = Id::chdir, .name = "chdir", .value = "DIR", .group = Group::program,
     .help = "start the workers in this directory"},
    {.id = Id::stdin_of, .name = "stdin", .value = "none|all|RANK", .group = Group::program,
     .help = "who reads standard input: a rank, all, or nobody; without it a lone worker does"},
    {.id = Id::wrap, .name = "wrap", .value = "RANKS:COMMAND", .group = Group::program,
     .help = "run these ranks under a tool: --wrap '0:gdb --args', --wrap 'all:nsys profile -o out.${rank}'; may be repeated",
     .repeatable = true},
    {.id = Id::pass_local_rank, .name = "pass-local-rank", .group = Group::program,
     .help = "append --local-rank=N to the program's arguments, as torch.distributed.launch did"},
    {.id = Id::virtual_local_rank, .name = "virtual-local-rank", .group = Group::program,
     .help = "LOCAL_RANK=0 for every worker, with one device each in CUDA_VISIBLE_DEVICES", .torchrun = true, .pet = true},
    {.id = Id::bind, .name = "bind", .value = "none|cores|numa|socket|exclusive|core-complex", .fallback = "none",
     .group = Group::program, .help = "keep each worker on its own cores, NUMA node, socket, share of its NUMA node or last-level cache"},
    {.id = Id::bind, .name = "numa-binding", .value = "node|socket|exclusive|core-complex", .group = Group::program,
     .help = "torchrun's name for --bind; node is numa", .torchrun = true},
    {.id = Id::start_method, .name = "start-method", .value = "spawn|fork|forkserver", .fallback = "spawn", .group = Group::program,
     .help = "how workers come to be; fork: the program runs once up to its dlaunch::fork_point() and is forked there for every worker, at a restart again; else, and always for Python, each executes the program", .torchrun = true, .pet = true},

    // --- how nodes meet ---
    {.id = Id::standalone, .name = "standalone", .group = Group::rendezvous,
     .help = "a job of this node alone, with a port and a job id of its own; the other options of this group do not count",
     .torchrun = true, .pet = true},
    {.id = Id::rdzv_backend, .name = "rdzv-backend", .value = "static|c10d", .fallback = "static", .group = Group::rendezvous,
     .help = "how nodes find each other", .torchrun = true, .pet = true},
    {.id = Id::rdzv_endpoint, .name = "rdzv-endpoint", .value = "HOST[:PORT]|file:///DIR", .group = Group::rendezvous,
     .help = "where nodes meet: the first place's node hosts the meeting, others separated by commas are further ways to it; or a folder that all nodes share", .torchrun = true, .pet = true},
    {.id = Id::rdzv_id, .name = "rdzv-id", .value = "ID", .group = Group::rendezvous,
     .help = "job id, the same on all nodes; without it a fresh one on a single node, none on several",
     .torchrun = true, .pet = true},
    {.id = Id::rdzv_conf, .name = "rdzv-conf", .value = "KEY=VALUE,...", .group = Group::rendezvous,
     .help = "times and details of the meeting: join_timeout, last_call_timeout, is_host and torchrun's others; an unknown key is a warning", .torchrun = true, .pet = true},
    {.id = Id::node_rank, .name = "node-rank", .value = "N", .group = Group::rendezvous,
     .help = "rank of this node", .torchrun = true, .pet = true},
    {.id = Id::master_addr, .name = "master-addr", .value = "HOST", .fallback = "127.0.0.1", .group = Group::rendezvous,
     .help = "address of node 0, for the static backend", .torchrun = true, .pet = true},
    {.id = Id::master_port, .name = "master-port", .value = "PORT", .group = Group::rendezvous,
     .help = "port of node 0, for the static backend; without it a free one on a single node, 29500 on several",
     .torchrun = true, .pet = true},
    {.id = Id::local_addr, .name = "local-addr", .value = "HOST", .group = Group::rendezvous,
     .help = "address at which other nodes reach this one; without it one is chosen", .torchrun = true, .pet = true},
    {.id = Id::scale_up, .name = "scale-up", .value = "immediate|on-restart|never", .fallback = "immediate", .group = Group::rendezvous,
     .help = "when a node that comes late to an elastic job is taken in"},
    {.id = Id::node_timeout, .name = "node-timeout", .value = "SECONDS", .fallback = "5", .group = Group::rendezvous,
     .help = "a node that is silent for so long is lost"},

    // --- failures and stopping ---
    {.id = Id::max_restarts, .name = "max-restarts", .value = "N", .fallback = "0", .group = Group::endings,
     .help = "how often the workers are started again after a failure", .torchrun = true, .pet = true},
    {.id = Id::restart_backoff, .name = "restart-backoff", .value = "FIRST[:MAX]", .fallback = "0.1:30", .group = Group::endings,
     .help = "seconds between restarts after quick failures: from FIRST, doubled each time, up to MAX"},
    {.id = Id::crash_loop, .name = "crash-loop", .value = "N", .fallback = "10", .group = Group::endings,
     .help = "give up (status 93) after so many quick failures in a row that end alike; 0: never"},
    {.id = Id::timeout, .name = "timeout", .value = "SECONDS", .group = Group::endings,
     .help = "stop a job that takes longer (status 84); 0: it may take any time"},
    {.id = Id::shutdown_timeout, .name = "shutdown-timeout", .value = "SECONDS", .fallback = "30", .group = Group::endings,
     .help = "grace between the stop signal and SIGKILL", .torchrun = true, .pet = true,
     .other_variable = "TORCH_ELASTIC_SHUTDOWN_TIMEOUT"},
    {.id = Id::shutdown_timeout, .name = "grace", .value = "SECONDS", .group = Group::endings,
     .help = "another name for --shutdown-timeout"},
    {.id = Id::stop_signal, .name = "stop-signal", .value = "SIGNAL", .fallback = "SIGTERM", .group = Group::endings,
     .help = "what asks the workers to end after a failure"},
    {.id = Id::signals_to_handle, .name = "signals-to-handle", .value = "SIGNAL,...", .fallback = "SIGTERM,SIGINT,SIGHUP,SIGQUIT",
     .group = Group::endings, .help = "signals to dlaunch that end the job; they are passed on to the workers",
     .torchrun = true, .pet = true},
    {.id = Id::monitor_interval, .name = "monitor-interval", .value = "SECONDS", .fallback = "0.1", .group = Group::endings,
     .help = "taken for torchrun's sake; nothing is polled, ends are seen at once", .torchrun = true, .pet = true},

    // --- logs ---
    {.id = Id::log_dir, .name = "log-dir", .value = "DIR", .group = Group::logs,
     .help = "where log files go; without it a new directory below $TMPDIR", .torchrun = true, .pet = true},
    {.id = Id::redirects, .name = "redirects", .letter = 'r', .value = "0|1|2|3|RANK:N,...", .fallback = "0", .group = Group::logs,
     .help = "output to files only: 0 none, 1 stdout, 2 stderr, 3 both, for all or per local rank (0:3,1:2)",
     .torchrun = true, .pet = true},
    {.id = Id::tee, .name = "tee", .letter = 't', .value = "0|1|2|3|RANK:N,...", .fallback = "0", .group = Group::logs,
     .help = "output to files and, with a prefix, to the console; values as for -r", .torchrun = true, .pet = true},
    {.id = Id::local_ranks_filter, .name = "local-ranks-filter", .value = "RANKS", .group = Group::logs,
     .help = "local ranks that may write to the console (0,2-3); files are not affected", .torchrun = true, .pet = true},
    {.id = Id::duplicate_stdout_filters, .name = "duplicate-stdout-filters", .value = "TEXT,...", .group = Group::logs,
     .help = "copy stdout lines that contain one of these to filtered_stdout.log; ,, is a comma", .torchrun = true, .pet = true},
    {.id = Id::duplicate_stderr_filters, .name = "duplicate-stderr-filters", .value = "TEXT,...", .group = Group::logs,
     .help = "the same for stderr and filtered_stderr.log", .torchrun = true, .pet = true},
    {.id = Id::log_line_prefix_template, .name = "log-line-prefix-template", .value = "TEXT",
     .fallback = "[${role_name}${local_rank}]:", .group = Group::logs,
     .help = "what stands before a line on the console; knows ${role_name} ${local_rank} ${rank} ${hostname}",
     .torchrun = true, .other_variable = "TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE"},
    {.id = Id::timestamps, .name = "timestamps", .group = Group::logs, .help = "a time before every line on the console"},
    {.id = Id::fold, .name = "fold", .group = Group::logs, .help = "show lines that several ranks print alike once"},
    {.id = Id::rotate, .name = "rotate", .value = "SIZE[:KEEP]", .group = Group::logs,
     .help = "start a new log file at this size (500K, 1M, 2G) and keep so many old ones (5)"},
    {.id = Id::logs_specs, .name = "logs-specs", .value = "NAME", .group = Group::logs,
     .help = "refused: torchrun loads a Python plug-in here", .torchrun = true},

    // --- watching ---
    {.id = Id::report, .name = "report", .value = "FILE", .group = Group::watching,
     .help = "write how the job ended as JSON"},
    {.id = Id::event_log, .name = "event-log", .value = "FILE", .group = Group::watching,
     .help = "append every change of state as a line of JSON"},
    {.id = Id::event_log_handler, .name = "event-log-handler", .value = "null|console", .fallback = "null", .group = Group::watching,
     .help = "taken for torchrun's sake; see --event-log", .torchrun = true, .pet = true},
    {.id = Id::quiet, .name = "quiet", .letter = 'q', .group = Group::watching, .help = "say nothing but errors"},
    {.id = Id::verbose, .name = "verbose", .letter = 'v', .group = Group::watching, .help = "say what is done"},

    // --- general ---
    {.id = Id::config, .name = "config", .value = "FILE", .group = Group::general,
     .help = "read options from a file of key = value lines; the command line and variables win over it"},
    {.id = Id::dry_run, .name = "dry-run", .group = Group::general,
     .help = "print the plan as JSON and start nothing"},
    {.id = Id::print_completion, .name = "print-completion", .value = "bash|zsh|fish", .group = Group::general,
     .help = "print completions for a shell", .torchrun = true, .only_on_command_line = true},
    {.id = Id::version, .name = "version", .letter = 'V', .group = Group::general,
     .help = "print versions", .only_on_command_line = true},
    {.id = Id::help, .name = "help", .letter = 'h', .group = Group::general,
     .help = "print this text", .torchrun = true, .only_on_command_line = true},
};
// clang-format on

constexpr std::string_view kOwnPrefix = "DLAUNCH_", kPetPrefix = "PET_";

/// NPROC_PER_NODE and nproc-per-node.
bool same_name(std::string_view variable, std::string_view name) {
    return std::ranges::equal(variable, name, [](char a, char b) {
        return a == (b == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(b))));
    });
}

bool is_choice(std::string_view word) {
    return !word.empty() && std::ranges::all_of(word, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
    });
}

}  // namespace

std::span<const Option> all_options() { return kOptions; }

std::string_view title(Group group) {
    switch (group) {
        case Group::job: return "Size of the job";
        case Group::program: return "What runs";
        case Group::rendezvous: return "How nodes meet";
        case Group::endings: return "Failures and stopping";
        case Group::logs: return "Output and logs";
        case Group::watching: return "Watching";
        case Group::general: return "General";
    }
    return {};
}

std::vector<std::string_view> Option::choices() const {
    std::vector<std::string_view> found;
    for (std::string_view rest = value; !rest.empty();) {
        std::size_t end = std::min(rest.find('|'), rest.size());
        if (is_choice(rest.substr(0, end))) found.push_back(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return found;
}

std::string Option::variable(std::string_view prefix) const {
    std::string text(prefix);
    for (char c : name) text += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return text;
}

std::vector<std::string> Option::variables() const {
    std::vector<std::string> names;
    if (only_on_command_line) return names;
    names.push_back(variable(kOwnPrefix));
    if (pet) names.push_back(variable(kPetPrefix));
    if (!other_variable.empty()) names.emplace_back(other_variable);
    return names;
}

std::string with_dashes(std::string_view name) {
    std::string text(name);
    std::ranges::replace(text, '_', '-');
    return text;
}

const Option* find_option(std::string_view name) {
    std::string wanted = with_dashes(name);
    auto found = std::ranges::find(kOptions, std::string_view(wanted), &Option::name);
    return found == std::end(kOptions) ? nullptr : &*found;
}

const Option* find_option(char letter) {
    auto found = std::ranges::find(kOptions, letter, &Option::letter);
    return letter == '\0' || found == std::end(kOptions) ? nullptr : &*found;
}

const Option* find_variable(std::string_view variable) {
    bool own = variable.starts_with(kOwnPrefix), pet = variable.starts_with(kPetPrefix);
    std::string_view rest = variable.substr(own ? kOwnPrefix.size() : pet ? kPetPrefix.size() : 0);
    for (const Option& option : kOptions) {
        if (option.only_on_command_line) continue;
        if (!option.other_variable.empty() && option.other_variable == variable) return &option;
        if ((own || (pet && option.pet)) && same_name(rest, option.name)) return &option;
    }
    return nullptr;
}

}  // namespace dlaunch::launcher
