#include "launcher/cli/other_launchers.hpp"

#include <algorithm>
#include <array>

#include "launcher/cli/split.hpp"

namespace dlaunch::launcher {
namespace {

struct Known {
    std::string_view names;  ///< separated by blanks
    std::string_view hint;
};

/// From the man pages of mpiexec.openmpi(1), mpiexec.hydra(1) and srun(1), and the help of accelerate and deepspeed.
constexpr std::array kKnown = std::to_array<Known>({
    {"ppn npernode ntasks-per-node tasks-per-node", "did you mean --nproc-per-node?"},
    {"ntasks num-processes", "did you mean -n (workers of all nodes)?"},
    {"N num-machines nodes", "did you mean --nnodes?"},
    {"H host w nodelist", "did you mean --hosts?"},
    {"f machinefile default-hostfile", "did you mean --hostfile?"},
    {"x genv env", "did you mean --env NAME=VALUE?"},
    {"genvall envall genvlist envlist", "workers have dlaunch's own environment, --export and --env change it"},
    {"wdir wd workdir D", "did you mean --chdir DIR?"},
    {"tag-output prepend-rank l label", "did you mean --prefix?"},
    {"timestamp-output", "did you mean --timestamps?"},
    {"pernode", "did you mean --nproc-per-node=1?"},
    {"output-filename outfile-pattern errfile-pattern outfile errfile o output error e",
     "did you mean --log-dir DIR and -r 3?"},
    {"report-bindings display-map display-topo display-allocation", "--dry-run shows ranks and processors"},
    {"bind-to bind-to-core bind-to-socket cpu-bind cpu-bind-to hint cpus-per-rank cpus-per-task c cpu-set",
     "did you mean --bind?"},
    {"map-by rank-by distribution bynode byslot rr", "workers are placed host by host; --hosts gives the order"},
    {"oversubscribe overcommit O nooversubscribe", "--nproc-per-node may exceed the number of cores"},
    {"k no-kill", "did you mean --nnodes=MIN:MAX (the job goes on without a lost node)?"},
    {"unbuffered u", "it is not needed: every line is printed at once"},
    {"multi-prog", "a lone ':' separates programs: dlaunch -n 1 ./a : -n 4 ./b"},
    {"allow-run-as-root kill-on-bad-exit K disable-auto-cleanup wait W",
     "it is not needed: root may run dlaunch, and a failure ends all workers"},
    {"mca gmca", "set the variable OMPI_MCA_<name>, with --env"},
    {"rmk bootstrap launcher-exec plm", "did you mean --launcher?"},
    {"iface network-interface", "did you mean --local-addr?"},
    {"machine-rank", "did you mean --node-rank?"},
    {"main-process-ip", "did you mean --master-addr?"},
    {"main-process-port", "did you mean --master-port?"},
    {"s all-stdin i input", "did you mean --stdin?"},
    {"gres G gpus gpus-per-node",
     "did you mean --nproc-per-node=gpu (one worker per GPU)? SLURM gives GPUs to sbatch, salloc and srun only"},
    {"gpus-per-task gpu-bind", "did you mean --virtual-local-rank (one GPU per worker)?"},
    {"t time", "did you mean --timeout (in seconds, or 10m)?"},
    {"A account p partition qos M clusters reservation C constraint L licenses mem mem-per-cpu mem-per-gpu mincpus tmp "
     "J job-name comment b begin d dependency deadline signal time-min jobid exclusive exact overlap gres-flags "
     "cpus-per-gpu gpus-per-socket sockets-per-node cores-per-socket threads-per-core",
     "SLURM's own: give it to sbatch, salloc or srun, or to --launcher-args of --launcher=srun"},
});

}  // namespace

std::string_view hint_for_other_launchers(std::string_view typed) {
    const std::string_view name = typed.substr(0, typed.find_last_not_of("0123456789") + 1);  // -N4
    if (name.empty()) return {};
    for (const Known& known : kKnown) {
        const auto names = split(known.names, ' ');
        if (std::ranges::find(names, name) != names.end()) return known.hint;
    }
    return {};
}

}  // namespace dlaunch::launcher
