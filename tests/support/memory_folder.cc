#include "tests/support/memory_folder.h"

#include <system_error>

namespace onceward::support {

std::filesystem::path memory_folder() {
    constexpr std::uintmax_t room_for_servers = std::uintmax_t{2} << 30;
    const std::filesystem::path memory = "/dev/shm";
    std::error_code error;
    const std::filesystem::space_info space = std::filesystem::space(memory, error);
    const bool room = !error && space.available > room_for_servers;
    return room ? memory : std::filesystem::temp_directory_path();
}

}  // namespace onceward::support
