#pragma once
// Where the program `onceward` is: beside this one, as the build leaves them.

#include <filesystem>

namespace onceward {

inline std::filesystem::path product_program() {
    return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "onceward";
}

}  // namespace onceward
