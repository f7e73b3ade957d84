#pragma once
/// The name of a library in ELF format, and the libraries that it or a program needs, from the dynamic section.

#include <optional>
#include <string>
#include <vector>

namespace dlaunch::launcher {

struct ElfNeeds {
    std::string name{};                    ///< of a library (DT_SONAME)
    std::vector<std::string> libraries{};  ///< names, in order (DT_NEEDED); empty for a static program
    std::string search_path{};             ///< folders for them, with $ORIGIN (DT_RUNPATH, else DT_RPATH)
    bool passes_on = false;                ///< DT_RPATH: its folders hold for what these libraries need, too
};

/// Reads a few pages of the file, whatever its size. None: no 64-bit ELF file of this machine's byte order, or a
/// damaged one.
[[nodiscard]] std::optional<ElfNeeds> read_needs(int file);

}  // namespace dlaunch::launcher
