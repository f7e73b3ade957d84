#include "launcher/mpi/elf.hpp"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

namespace dlaunch::launcher {
namespace {

// Files beyond these limits count as damaged.
constexpr std::size_t kMostSegments = 128;
constexpr std::size_t kMostEntries = 1024;  ///< of the dynamic section
constexpr std::size_t kMostNameBytes = 4096;

/// False if the file is too short.
bool read_at(int file, std::uint64_t offset, void* to, std::size_t bytes) {
    return ::pread(file, to, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes);
}

bool is_readable(const Elf64_Ehdr& head) {
    constexpr unsigned char kOrder = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
    return std::memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 && head.e_ident[EI_CLASS] == ELFCLASS64 &&
           head.e_ident[EI_DATA] == kOrder && head.e_phentsize == sizeof(Elf64_Phdr) && head.e_phnum > 0 &&
           head.e_phnum <= kMostSegments;
}

class DynamicSection {
public:
    DynamicSection(int file, std::vector<Elf64_Phdr> segments) : file_(file), segments_(std::move(segments)) {}

    std::optional<ElfNeeds> read() {
        const auto dynamic = std::ranges::find(segments_, std::uint32_t{PT_DYNAMIC}, &Elf64_Phdr::p_type);
        if (dynamic == segments_.end()) return ElfNeeds{};
        const std::uint64_t count = dynamic->p_filesz / sizeof(Elf64_Dyn);
        if (count > kMostEntries) return std::nullopt;
        std::vector<Elf64_Dyn> entries(count);
        if (!read_at(file_, dynamic->p_offset, entries.data(), entries.size() * sizeof(Elf64_Dyn))) return std::nullopt;
        entries.erase(std::ranges::find(entries, DT_NULL, &Elf64_Dyn::d_tag), entries.end());
        const auto strings = std::ranges::find(entries, DT_STRTAB, &Elf64_Dyn::d_tag);
        if (strings == entries.end()) return ElfNeeds{};
        strings_ = strings->d_un.d_ptr;
        return needs_of(entries);
    }

private:
    std::optional<ElfNeeds> needs_of(const std::vector<Elf64_Dyn>& entries) {
        ElfNeeds needs;
        bool has_run_path = false;
        for (const Elf64_Dyn& entry : entries) {
            const bool is_path = entry.d_tag == DT_RUNPATH || (entry.d_tag == DT_RPATH && !has_run_path);
            if (entry.d_tag != DT_NEEDED && entry.d_tag != DT_SONAME && !is_path) continue;
            auto text = string_at(entry.d_un.d_val);
            if (!text) return std::nullopt;
            if (entry.d_tag == DT_NEEDED) {
                needs.libraries.push_back(std::move(*text));
            } else if (entry.d_tag == DT_SONAME) {
                needs.name = std::move(*text);
            } else {
                has_run_path = entry.d_tag == DT_RUNPATH;
                needs.passes_on = !has_run_path;
                needs.search_path = std::move(*text);
            }
        }
        return needs;
    }

    /// `offset` in the string table, whose address in memory is known: the segment that is loaded there gives the place
    /// in the file.
    std::optional<std::string> string_at(std::uint64_t offset) {
        const std::uint64_t address = strings_ + offset;
        for (const Elf64_Phdr& segment : segments_) {
            if (segment.p_type != PT_LOAD || address - segment.p_vaddr >= segment.p_filesz) continue;
            const std::uint64_t rest = segment.p_filesz - (address - segment.p_vaddr);
            return text_at(segment.p_offset + (address - segment.p_vaddr),
                           std::min(rest, std::uint64_t{kMostNameBytes}));
        }
        return std::nullopt;
    }

    std::optional<std::string> text_at(std::uint64_t place, std::size_t most) {
        std::array<char, kMostNameBytes> text;
        const ssize_t got = ::pread(file_, text.data(), most, static_cast<off_t>(place));
        if (got <= 0) return std::nullopt;
        const auto* const end = std::find(text.begin(), text.begin() + got, '\0');
        if (end == text.begin() + got) return std::nullopt;
        return std::string(text.data(), static_cast<std::size_t>(end - text.begin()));
    }

    int file_;
    std::vector<Elf64_Phdr> segments_;
    std::uint64_t strings_ = 0;
};

}  // namespace

std::optional<ElfNeeds> read_needs(int file) {
    Elf64_Ehdr head;
    if (!read_at(file, 0, &head, sizeof head) || !is_readable(head)) return std::nullopt;
    std::vector<Elf64_Phdr> segments(head.e_phnum);
    if (!read_at(file, head.e_phoff, segments.data(), segments.size() * sizeof(Elf64_Phdr))) return std::nullopt;
    return DynamicSection(file, std::move(segments)).read();
}

}  // namespace dlaunch::launcher
