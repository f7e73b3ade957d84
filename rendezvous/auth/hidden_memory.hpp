#pragma once

namespace dlaunch::auth {

/// For a process that has a token: from now on its memory is in no core dump, and only root can read it through /proc
/// or a debugger. Processes that it forks inherit this up to their exec.
void hide_memory();

}  // namespace dlaunch::auth
