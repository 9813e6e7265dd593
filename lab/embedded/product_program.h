#pragma once
// Where the program `onceward` is: in the folder of the running program, as the build leaves both.
// Throws std::filesystem::filesystem_error if /proc cannot be read.

#include <filesystem>

namespace onceward {

inline std::filesystem::path product_program() {
    return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "onceward";
}

}  // namespace onceward
