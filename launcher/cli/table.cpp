#include "launcher/cli/table.hpp"

#include <algorithm>
#include <cctype>

#include "launcher/cli/endpoint.hpp"
#include "launcher/cli/setters.hpp"
#include "launcher/cli/signals.hpp"
#include "launcher/cli/split.hpp"

namespace dlaunch::launcher {
namespace {

// The help texts serve --help and the man page: noun phrases, not sentences.
// A `fallback` must be accepted by the option's setter and be the plan's default; a test compares the two.
// One field per line would hide the table.
// clang-format off
constexpr Option kOptions[] = {
    // --- size of the job ---
    {.name = "nnodes", .value = "N|MIN:MAX", .fallback = "1:1", .group = Group::job,
     .help = "number of nodes; MIN:MAX for an elastic job", .torchrun = true, .pet = true,
     .set = set_nodes},
    {.name = "nproc-per-node", .value = "N|auto|cpu|gpu|xpu|hpu|npu", .fallback = "1", .group = Group::job,
     .help = "workers per node; gpu: one per NVIDIA or AMD GPU; xpu: per Intel GPU; hpu: per Gaudi; npu: per Ascend device; cpu: per usable core; auto: the first of gpu, xpu, hpu and npu that the node has, else cpu",
     .torchrun = true, .pet = true, .of_context = true,
     .set = [](const OptionUse& use, Settings& to) { return store(to.workers, parse_nproc(use.value)); }},
    {.name = "np", .same_as = "nproc-per-node", .alone = true, .letter = 'n', .value = "N", .group = Group::job,
     .help = "total number of workers of PROGRAM, placed by the slots of --hosts or divided equally among the nodes, "
             "in place of --nproc-per-node; -np N is accepted, as by mpiexec",
     .of_context = true,
     .set = [](const OptionUse& use, Settings& to) { return store(to.workers, parse_total(use.value)); }},
    {.name = "role", .value = "NAME", .fallback = "default", .group = Group::job,
     .help = "role of the workers: ROLE_NAME, and part of log prefixes; in a job of several programs the default is the file name", .torchrun = true, .pet = true, .may_be_empty = true,
     .of_context = true,
     .set = [](const OptionUse& use, Settings& to) { return store(to.program.role, parse_any(use.value)); }},

    // --- program ---
    {.name = "module", .letter = 'm', .group = Group::program,
     .help = "PROGRAM is a Python module: run as python -u -m PROGRAM", .torchrun = true, .pet = true,
     .set = [](const OptionUse& use, Settings& to) { return store(to.module, parse_switch(use.value)); }},
    {.name = "no-python", .group = Group::program,
     .help = "execute PROGRAM directly, even if its name ends in .py", .torchrun = true, .pet = true,
     .set = [](const OptionUse& use, Settings& to) { return store(to.no_python, parse_switch(use.value)); }},
    {.name = "run-path", .group = Group::program,
     .help = "run PROGRAM with Python, whatever its name ends in", .torchrun = true, .pet = true,
     .set = [](const OptionUse& use, Settings& to) { return store(to.run_path, parse_switch(use.value)); }},
    {.name = "env", .value = "NAME=VALUE", .group = Group::program,
     .help = "set a variable for the workers; may be repeated", .repeatable = true, .of_context = true,
     .set = add_variable},
    {.name = "chdir", .value = "DIR", .group = Group::program,
     .help = "start the workers in this directory", .of_context = true,
     .set = [](const OptionUse& use, Settings& to) { return store(to.program.working_directory, parse_text(use.value, "a directory")); }},
    {.name = "stdin", .value = "none|all|RANK", .group = Group::program,
     .help = "ranks that read standard input: one, all or none; default: the worker, if there is only one, or rank 0 of an MPI job",
     .set = [](const OptionUse& use, Settings& to) { return store(to.plan.standard_input, parse_stdin(use.value)); }},
    {.name = "wrap", .value = "RANKS:COMMAND", .group = Group::program,
     .help = "run these ranks under a tool: --wrap '0:gdb --args', --wrap 'all:nsys profile -o out.${rank}'; may be repeated",
     .repeatable = true, .of_context = true,
     .set = add_wrap},
    {.name = "pass-local-rank", .group = Group::program,
     .help = "put --local-rank=N before the program's arguments, as torch.distributed.launch does; =underscore: --local_rank=N, as before torch 2",
     .set = set_local_rank_option},
    {.name = "use-env", .group = Group::program,
     .help = "undo --pass-local-rank: LOCAL_RANK is always in the environment (torch.distributed.launch)",
     .set = [](const OptionUse& use, Settings& to) { return store(to.use_env, parse_switch(use.value)); }},
    {.name = "virtual-local-rank", .group = Group::program,
     .help = "LOCAL_RANK=0 and a single device for every worker, in CUDA_VISIBLE_DEVICES or the variable of the node's vendor", .torchrun = true, .pet = true,
     .set = [](const OptionUse& use, Settings& to) { return store(to.plan.virtual_local_rank, parse_switch(use.value)); }},
    {.name = "bind", .value = "none|cores|numa|socket|exclusive|core-complex", .fallback = "none",
     .group = Group::program, .help = "bind each worker to cores of its own, a NUMA node, a socket, its share of a NUMA node, or a last-level cache",
     .set = [](const OptionUse& use, Settings& to) { return store(to.plan.binding, parse_binding(use.value)); }},
    {.name = "numa-binding", .same_as = "bind", .value = "node|socket|exclusive|core-complex", .group = Group::program,
     .help = "torchrun's name for --bind; node is numa", .torchrun = true,
     .set = [](const OptionUse& use, Settings& to) { return store(to.plan.binding, parse_binding(use.value)); }},
    {.name = "start-method", .value = "spawn|fork|forkserver", .fallback = "spawn", .group = Group::program,
     .help = "spawn: execute PROGRAM once per worker; fork: run PROGRAM once to dlaunch::fork_point(), then fork it per worker and per restart; Python and forkserver always spawn", .torchrun = true, .pet = true,
     .set = set_start_method},

    {.name = "mpi", .value = "auto|pmi1|pmix|none", .fallback = "auto", .group = Group::program,
     .help = "how MPI programs find their ranks; pmi1: MPICH and libraries derived from it; pmix: Open MPI; auto: what PROGRAM, or the mpi4py that a Python program imports, is linked with",
     .set = set_mpi},

    // --- rendezvous ---
    {.name = "standalone", .group = Group::rendezvous,
     .help = "a job of this node alone, with its own port and job id; the other options of this group have no effect",
     .torchrun = true, .pet = true,
     .set = [](const OptionUse& use, Settings& to) { return store(to.standalone, parse_switch(use.value)); }},
    {.name = "rdzv-backend", .value = "static|c10d|etcd|etcd-v2", .fallback = "static", .group = Group::rendezvous,
     .help = "static: rendezvous at --master-addr and --master-port; c10d: at --rdzv-endpoint; etcd, etcd-v2: likewise, an etcd cluster's HOST:PORT", .torchrun = true, .pet = true,
     .set = set_backend},
    {.name = "rdzv-endpoint", .value = "HOST[:PORT]|file:///DIR|etcd://HOST[:PORT]", .group = Group::rendezvous,
     .help = "address of the node that hosts the coordinator, with further addresses of that node after commas; or a folder that all nodes share; or the members of an etcd cluster", .torchrun = true, .pet = true,
     .set = set_endpoint},
    {.name = "rdzv-id", .value = "ID", .group = Group::rendezvous,
     .help = "job id, the same on all nodes; default: a fresh id on a single node, none on several",
     .torchrun = true, .pet = true,
     .set = [](const OptionUse& use, Settings& to) { return store(to.job_id, parse_text(use.value, "a job id")); }},
    {.name = "rdzv-conf", .value = "KEY=VALUE,...", .group = Group::rendezvous,
     .help = "rendezvous settings: join_timeout, last_call_timeout, is_host and torchrun's other keys; an unknown key causes a warning", .torchrun = true, .pet = true,
     .set = set_rdzv_conf},
    {.name = "node-rank", .value = "N", .group = Group::rendezvous,
     .help = "rank of this node", .torchrun = true, .pet = true,
     .set = [](const OptionUse& use, Settings& to) { return store(to.plan.rendezvous.node_rank, parse_count(use.value, "a rank")); }},
    {.name = "master-addr", .value = "HOST", .fallback = "127.0.0.1", .group = Group::rendezvous,
     .help = "address of node 0, for the static backend", .torchrun = true, .pet = true,
     .set = [](const OptionUse& use, Settings& to) { return store(to.master_addr, parse_host(use.value)); }},
    {.name = "master-port", .value = "PORT", .group = Group::rendezvous,
     .help = "port of node 0, for the static backend; default: a free port on a single node, 29500 on several",
     .torchrun = true, .pet = true,
     .set = [](const OptionUse& use, Settings& to) { return store(to.master_port, parse_port(use.value, 1)); }},
    {.name = "local-addr", .value = "HOST", .group = Group::rendezvous,
     .help = "address at which other nodes reach this one, or its interface (eth0); default: chosen by the route to the coordinator", .torchrun = true, .pet = true,
     .set = [](const OptionUse& use, Settings& to) { return store(to.plan.rendezvous.local_addr, parse_host(use.value)); }},
    {.name = "scale-up", .value = "immediate|on-restart|never", .fallback = "immediate", .group = Group::rendezvous,
     .help = "when a late node is admitted to a running elastic job",
     .set = set_scale_up},
    {.name = "node-timeout", .value = "SECONDS", .fallback = "5", .group = Group::rendezvous,
     .help = "silence after which a node counts as lost; at least 2; with a folder or etcd as endpoint the default is 10",
     .set = [](const OptionUse& use, Settings& to) { return store(to.node_timeout, parse_seconds_above_zero(use.value)); }},

    {.name = "token-file", .value = "FILE", .group = Group::rendezvous,
     .help = "file with the job's token, the same on all nodes, as dlaunch token FILE makes one",
     .set = [](const OptionUse& use, Settings& to) { return store(to.token_file, parse_text(use.value, "a file")); }},
    {.name = "no-token", .group = Group::rendezvous,
     .help = "leave the job open to everybody who reaches it, as on hosts without OpenSSL, and say nothing about it",
     .set = [](const OptionUse& use, Settings& to) { return store(to.no_token, parse_switch(use.value)); }},
    {.name = "store", .value = "open|relay", .group = Group::rendezvous,
     .help = "how workers reach their store: at the address of group rank 0's node, as torch's, or through this node's agent; default: relay with a token of yours, else open",
     .set = set_store},

    // --- starting all nodes ---
    {.name = "hosts", .value = "LIST", .group = Group::hosts,
     .help = "start the job on these hosts, in this order: node[01-16],ann@gpu7:8; user@ and :SLOTS as needed",
     .of_context = true,
     .set = [](const OptionUse& use, Settings& to) { return store(to.hosts.hosts, parse_hosts(use.value)); }},
    {.name = "hostfile", .value = "FILE", .group = Group::hosts,
     .help = "start the job on the hosts of this file, with lines as HOST, HOST:N or HOST slots=N",
     .set = [](const OptionUse& use, Settings& to) { return store(to.hosts.hostfile, parse_text(use.value, "a file")); }},
    {.name = "include", .value = "HOST[:SLOT,...][@...]", .group = Group::hosts,
     .help = "use only these hosts and slots, as w1@w3:0,2; slots become the visible devices",
     .set = [](const OptionUse& use, Settings& to) { return store(to.hosts.include, parse_choices(use.value)); }},
    {.name = "exclude", .value = "HOST[:SLOT,...][@...]", .group = Group::hosts,
     .help = "use all hosts and slots but these",
     .set = [](const OptionUse& use, Settings& to) { return store(to.hosts.exclude, parse_choices(use.value)); }},
    {.name = "num-nodes", .value = "N", .group = Group::hosts,
     .help = "use the first N hosts; -1: all",
     .set = [](const OptionUse& use, Settings& to) { return store(to.hosts.num_nodes, parse_limit(use.value, "a number of nodes", kMostNodes)); }},
    {.name = "num-gpus", .value = "N", .group = Group::hosts,
     .help = "use the first N slots of each host, which become the visible devices; -1: all",
     .set = [](const OptionUse& use, Settings& to) { return store(to.hosts.num_gpus, parse_limit(use.value, "a number of GPUs", kMostGpus)); }},
    {.name = "launcher", .value = "ssh|pdsh|srun|fork|manual", .group = Group::hosts,
     .help = "what starts dlaunch on the hosts; fork: all on this machine; manual: you, with the commands that are printed; default: ssh",
     .set = [](const OptionUse& use, Settings& to) { return store(to.hosts.starter, parse_starter(use.value)); }},
    {.name = "launcher-args", .value = "ARGS", .group = Group::hosts,
     .help = "options for ssh, pdsh or srun, after dlaunch's own: --launcher-args='-p 2222'",
     .set = [](const OptionUse& use, Settings& to) { return store(to.hosts.launcher_args, shell_words(use.value)); }},
    {.name = "launch-timeout", .value = "SECONDS", .fallback = "60", .group = Group::hosts,
     .help = "time in which a host's agent must have joined",
     .set = [](const OptionUse& use, Settings& to) { return store(to.hosts.launch_timeout, parse_seconds_above_zero(use.value)); }},
    {.name = "remote-dlaunch", .value = "FILE", .group = Group::hosts,
     .help = "path of dlaunch on the hosts; default: the same as here",
     .set = [](const OptionUse& use, Settings& to) { return store(to.hosts.remote_dlaunch, parse_text(use.value, "a path")); }},
    {.name = "copy", .group = Group::hosts,
     .help = "send this dlaunch to the hosts, where none is installed, for the time of the job",
     .set = [](const OptionUse& use, Settings& to) { return store(to.hosts.copy, parse_switch(use.value)); }},
    {.name = "collect-logs", .group = Group::hosts,
     .help = "bring the log files of all hosts here at the end, into --log-dir",
     .set = [](const OptionUse& use, Settings& to) { return store(to.hosts.collect_logs, parse_switch(use.value)); }},
    {.name = "export", .value = "ALL|NONE|NAME[=VALUE],...", .fallback = "ALL", .group = Group::hosts,
     .help = "variables that workers on the hosts get from here: all but those of a host or session, none, or these; ALL,NAME=VALUE adds one",
     .set = [](const OptionUse& use, Settings& to) { return store(to.hosts.exported, parse_export(use.value)); }},
    {.name = "host-discovery-script", .value = "COMMAND", .group = Group::hosts,
     .help = "command that prints the present hosts as HOST:SLOTS lines, run every second: hosts may come and go",
     .set = [](const OptionUse& use, Settings& to) { return store(to.hosts.host_discovery_script, parse_text(use.value, "a command")); }},

    // --- failures and stopping ---
    {.name = "max-restarts", .value = "N", .fallback = "0", .group = Group::endings,
     .help = "number of restarts after failures", .torchrun = true, .pet = true,
     .set = [](const OptionUse& use, Settings& to) { return store(to.plan.restarts.max_restarts, parse_count(use.value, "a number of restarts")); }},
    {.name = "restart-backoff", .value = "FIRST[:MAX]", .fallback = "0.1:30", .group = Group::endings,
     .help = "seconds between restarts after quick failures: from FIRST, doubled each time, up to MAX",
     .set = set_backoff},
    {.name = "crash-loop", .value = "N", .fallback = "10", .group = Group::endings,
     .help = "number of quick rounds in a row with the same kind of failure or loss after which the job ends with 93; 0: never",
     .set = [](const OptionUse& use, Settings& to) { return store(to.plan.restarts.crash_loop, parse_count(use.value, "a number of failures")); }},
    {.name = "node-cooldown", .value = "FIRST[:MAX]", .fallback = "10:300", .group = Group::endings,
     .help = "cool-down, in seconds, of a host with three losses within ten minutes: FIRST, doubled with each further loss, up to MAX; 0: none",
     .set = set_cooldown},
    {.name = "timeout", .value = "SECONDS", .group = Group::endings,
     .help = "time limit of the job (status 84); 0: none",
     .set = [](const OptionUse& use, Settings& to) { return store(to.plan.timeout, parse_seconds(use.value)); }},
    {.name = "shutdown-timeout", .value = "SECONDS", .fallback = "30", .group = Group::endings,
     .help = "grace between the stop signal and SIGKILL", .torchrun = true, .pet = true,
     .other_variable = "TORCH_ELASTIC_SHUTDOWN_TIMEOUT",
     .set = [](const OptionUse& use, Settings& to) { return store(to.plan.grace, parse_seconds(use.value)); }},
    {.name = "grace", .same_as = "shutdown-timeout", .value = "SECONDS", .group = Group::endings,
     .help = "another name for --shutdown-timeout",
     .set = [](const OptionUse& use, Settings& to) { return store(to.plan.grace, parse_seconds(use.value)); }},
    {.name = "settle", .value = "SECONDS", .fallback = "1", .group = Group::endings,
     .help = "after a failure that follows from a lost peer: wait this long for the peer's own failure before the other workers are stopped; 0: none",
     .set = [](const OptionUse& use, Settings& to) { return store(to.plan.settle, parse_seconds(use.value)); }},
    {.name = "stop-signal", .value = "SIGNAL", .fallback = "SIGTERM", .group = Group::endings,
     .help = "signal that stops the workers after a failure",
     .set = [](const OptionUse& use, Settings& to) { return store(to.plan.stop_signal, parse_stop_signal(use.value)); }},
    {.name = "signals-to-handle", .value = "SIGNAL,...", .fallback = "SIGTERM,SIGINT,SIGHUP,SIGQUIT",
     .group = Group::endings, .help = "signals to dlaunch that end the job; dlaunch forwards them to the workers",
     .torchrun = true, .pet = true,
     .set = set_signals},
    {.name = "requeue", .group = Group::endings,
     .help = "when SIGTERM ends the job, as at SLURM's time limit or a preemption, ask SLURM to run the batch job again",
     .set = [](const OptionUse& use, Settings& to) { return store(to.requeue, parse_switch(use.value)); }},
    {.name = "monitor-interval", .value = "SECONDS", .fallback = "0.1", .group = Group::endings,
     .help = "accepted, without effect: an exit is noticed at once, without polling", .torchrun = true, .pet = true,
     .set = check_seconds},

    // --- logs ---
    {.name = "log-dir", .value = "DIR", .group = Group::logs,
     .help = "directory of the log files; default: a new one in $TMPDIR, named by date and program", .torchrun = true, .pet = true,
     .set = [](const OptionUse& use, Settings& to) { return store(to.plan.logs.directory, parse_text(use.value, "a directory")); }},
    {.name = "keep-runs", .value = "N|all", .group = Group::logs,
     .help = "number of runs whose log files stay, the newest ones; default: 20 in $TMPDIR, all in --log-dir",
     .set = [](const OptionUse& use, Settings& to) { return store(to.plan.logs.keep_runs, parse_keep_runs(use.value)); }},
    {.name = "redirects", .letter = 'r', .value = "0|1|2|3|RANK:N,...", .fallback = "0", .group = Group::logs,
     .help = "output to files only: 0 none, 1 stdout, 2 stderr, 3 both; for all, or per local rank (0:3,1:2)",
     .torchrun = true, .pet = true,
     .set = [](const OptionUse& use, Settings& to) { return store(to.plan.logs.redirects, parse_streams(use.value)); }},
    {.name = "tee", .letter = 't', .value = "0|1|2|3|RANK:N,...", .fallback = "0", .group = Group::logs,
     .help = "output to files and, with a prefix, to the console; values as for -r", .torchrun = true, .pet = true,
     .set = [](const OptionUse& use, Settings& to) { return store(to.plan.logs.tee, parse_streams(use.value)); }},
    {.name = "local-ranks-filter", .value = "RANKS", .group = Group::logs,
     .help = "local ranks with output on the console (0,2-3); files are not affected", .torchrun = true, .pet = true,
     .set = set_shown_ranks},
    {.name = "duplicate-stdout-filters", .value = "TEXT,...", .group = Group::logs,
     .help = "copy stdout lines that contain one of these texts to filtered_stdout.log; ,, is a comma", .torchrun = true, .pet = true,
     .set = [](const OptionUse& use, Settings& to) { return store(to.plan.logs.stdout_filters, parse_filters(use.value)); }},
    {.name = "duplicate-stderr-filters", .value = "TEXT,...", .group = Group::logs,
     .help = "the same for stderr and filtered_stderr.log", .torchrun = true, .pet = true,
     .set = [](const OptionUse& use, Settings& to) { return store(to.plan.logs.stderr_filters, parse_filters(use.value)); }},
    {.name = "log-line-prefix-template", .value = "TEXT",
     .fallback = "[${role_name}${local_rank}]:", .group = Group::logs,
     .help = "prefix of lines on the console; variables: ${role_name} ${local_rank} ${rank} ${hostname}",
     .torchrun = true, .pet = true, .other_variable = "TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE",
     .set = set_prefix},
    {.name = "ui", .value = "live|plain|auto", .fallback = "auto", .group = Group::logs,
     .help = "view of several workers on a terminal: live, with bars in place and a status line, or their plain output; auto: live unless TERM=dumb",
     .set = set_ui},
    {.name = "pty", .group = Group::logs,
     .help = "give each worker a terminal for its output, so that C programs print each line at once; default in the live view for programs other than Python",
     .set = [](const OptionUse& use, Settings& to) { return store(to.plan.logs.terminals, parse_switch(use.value)); }},
    {.name = "prefix", .group = Group::logs, .help = "print the rank before every line on the console",
     .set = [](const OptionUse& use, Settings& to) { return store(to.plan.logs.prefixed, parse_switch(use.value)); }},
    {.name = "timestamps", .group = Group::logs, .help = "time of day before every line on the console",
     .set = [](const OptionUse& use, Settings& to) { return store(to.plan.logs.timestamps, parse_switch(use.value)); }},
    {.name = "fold", .group = Group::logs, .help = "print a line of several ranks once, with the ranks as prefix",
     .set = [](const OptionUse& use, Settings& to) { return store(to.plan.logs.fold, parse_switch(use.value)); }},
    {.name = "rotate", .value = "SIZE[:KEEP]", .group = Group::logs,
     .help = "size at which a log file is rotated (500K, 1M, 2G), and the number of old files kept (5)",
     .set = set_rotation},
    {.name = "logs-specs", .value = "NAME", .group = Group::logs,
     .help = "refused: torchrun's Python plug-ins cannot be loaded", .torchrun = true,
     .set = refuse_logs_specs},

    // --- watching ---
    {.name = "report", .value = "FILE", .group = Group::watching,
     .help = "write the result of the job as JSON; -: to standard output",
     .set = [](const OptionUse& use, Settings& to) { return store(to.plan.report_file, parse_text(use.value, "a file")); }},
    {.name = "event-log", .value = "FILE", .group = Group::watching,
     .help = "append each change of state as a line of JSON; -: to standard output",
     .set = [](const OptionUse& use, Settings& to) { return store(to.plan.event_log, parse_text(use.value, "a file")); }},
    {.name = "event-log-handler", .value = "null|console", .fallback = "null", .group = Group::watching,
     .help = "accepted, without effect; see --event-log", .torchrun = true, .pet = true,
     .set = check_choice},
    {.name = "quiet", .letter = 'q', .group = Group::watching, .help = "print errors only",
     .set = [](const OptionUse& use, Settings& to) { return store(to.quiet, parse_switch(use.value)); }},
    {.name = "verbose", .letter = 'v', .group = Group::watching, .help = "print each step",
     .set = [](const OptionUse& use, Settings& to) { return store(to.verbose, parse_switch(use.value)); }},

    // --- general ---
    {.name = "config", .value = "FILE", .group = Group::general,
     .help = "read options from a file of key = value lines; the command line and variables take precedence"},
    {.name = "dry-run", .group = Group::general,
     .help = "print the plan as JSON and start nothing",
     .set = [](const OptionUse& use, Settings& to) { return store(to.dry_run, parse_switch(use.value)); }},
    {.name = "print-completion", .value = "bash|zsh|fish", .group = Group::general,
     .help = "print completions for a shell", .torchrun = true, .only_on_command_line = true},
    {.name = "version", .letter = 'V', .group = Group::general,
     .help = "print versions", .only_on_command_line = true},
    {.name = "help", .letter = 'h', .group = Group::general,
     .help = "print this text", .torchrun = true, .only_on_command_line = true},
};

// Options of the command lines that dlaunch's own front end composes.
constexpr Option kHiddenOptions[] = {
    // Never a variable: DLAUNCH_APPNUM is a worker's.
    {.name = "appnum", .value = "N", .group = Group::program,
     .help = "place of this context among the job's; default: the next one", .only_on_command_line = true,
     .of_context = true,
     .set = [](const OptionUse& use, Settings& to) { return store(to.appnum, parse_count(use.value, "a place")); }},
    {.name = "devices", .value = "N,N...", .group = Group::program,
     .help = "chosen devices of this node, for the variable of their vendor", .only_on_command_line = true,
     .set = [](const OptionUse& use, Settings& to) { return store(to.devices, parse_text(use.value, "numbers")); }},
    {.name = "slots", .value = "N", .group = Group::program,
     .help = "most workers of this node", .only_on_command_line = true,
     .set = [](const OptionUse& use, Settings& to) { return store(to.slots, parse_count(use.value, "slots")); }},
};
// clang-format on

constexpr std::string_view kOwnPrefix = "DLAUNCH_", kPetPrefix = "PET_";

/// Whether the variable NPROC_PER_NODE names the option nproc-per-node.
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
        case Group::program: return "Program";
        case Group::rendezvous: return "Rendezvous";
        case Group::hosts: return "Starting all nodes";
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
    for (const std::span<const Option> options : {std::span<const Option>(kOptions), {kHiddenOptions}}) {
        auto found = std::ranges::find(options, std::string_view(wanted), &Option::name);
        if (found != options.end()) return &*found;
    }
    return nullptr;
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
