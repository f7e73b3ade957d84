#include "agent/process/terminal.hpp"

#include <unistd.h>

namespace dlaunch::agent {

Terminal::Terminal(pid_t guard) : job_group_(getpgid(guard)) {
    termios modes{};
    if (usable() && tcgetattr(STDIN_FILENO, &modes) == 0) modes_ = modes;
}

bool Terminal::usable() const { return isatty(STDIN_FILENO) == 1 && tcgetpgrp(STDIN_FILENO) == job_group_; }

void Terminal::give(pid_t group) {
    // A worker takes it itself before it executes; then it is its already.
    if (tcgetpgrp(STDIN_FILENO) != group && (!usable() || tcsetpgrp(STDIN_FILENO, group) != 0)) return;
    given_ = group;
}

void Terminal::take_back() {
    if (given_ != 0 && tcgetpgrp(STDIN_FILENO) == given_) tcsetpgrp(STDIN_FILENO, job_group_);
    given_ = 0;
}

void Terminal::restore_modes() {
    if (modes_ && usable()) tcsetattr(STDIN_FILENO, TCSADRAIN, &*modes_);
}

}  // namespace dlaunch::agent
