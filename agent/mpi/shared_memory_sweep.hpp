#pragma once

#include "agent/process/shared_memory.hpp"
#include "agent/services/round_service.hpp"

namespace dlaunch::agent {

/// Removes the shared memory of killed ranks after each round in which a worker did not exit with 0. The guard does the
/// same after the death of the agent.
class SharedMemorySweep final : public RoundService {
public:
    void prepare(const Assignment&) override { is_needed_ = false; }
    void ended(WorkerExit& exit) override { is_needed_ = is_needed_ || exit.status != 0; }
    void cleared() override {
        if (is_needed_) remove_unused_segments(kSharedMemory);
    }

private:
    bool is_needed_ = false;
};

}  // namespace dlaunch::agent
