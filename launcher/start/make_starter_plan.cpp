#include "launcher/start/make_starter_plan.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "rendezvous/base/base64.hpp"
#include "rendezvous/base/exit_status.hpp"
#include "rendezvous/base/files.hpp"
#include "rendezvous/base/random.hpp"

namespace dlaunch::launcher {
namespace {

constexpr std::size_t kMostProgramBytes = 256 << 20;

std::string own_program() {
    std::array<char, 4096> path{};
    const ssize_t length = readlink("/proc/self/exe", path.data(), path.size() - 1);
    return length > 0 ? path.data() : "dlaunch";
}

/// Built with glibc 2.36 or an older one, the program needs no symbol newer than 2.34, as a test checks.
std::string oldest_glibc() {
    constexpr int kPromised = 34, kCheckedUpTo = 36;
    return fmt::format("{}.{}", __GLIBC__, __GLIBC_MINOR__ <= kCheckedUpTo ? kPromised : __GLIBC_MINOR__);
}

}  // namespace

base::Result<StarterPlan> make_starter_plan(const FrontPlan& plan, const std::vector<store::Listener>& listeners) {
    const auto& token = plan.job.rendezvous.token;
    StarterPlan made{
        .kind = plan.launcher,
        .extra = plan.launcher_args,
        .own_program = own_program(),
        .remote_program = plan.remote_program.empty() ? own_program() : plan.remote_program,
        .key = token ? std::string() : fmt::format("{:016x}{:016x}", base::random_number(), base::random_number()),
        .token_line = token ? base::to_base64(token->bytes()) : std::string(),
        .token_file = plan.token_file,
        .glibc = oldest_glibc(),
        .srun_external = plan.job.host.variable("HYDRA_LAUNCHER_EXTRA_ARGS") == "--external-launcher"};
    for (const store::Listener& listener : listeners) made.addresses.push_back(listener.endpoint);
    if (!plan.copies) return made;
    std::string program = base::text_of(own_program(), kMostProgramBytes);
    if (program.empty())
        return base::Error{"--copy: " + own_program() + " cannot be read", exit_status::kCannotExecute};
    made.copied_program = std::make_shared<const std::string>(std::move(program));
    return made;
}

}  // namespace dlaunch::launcher
