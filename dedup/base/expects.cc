#include "dedup/base/expects.h"

#include <string_view>

namespace onceward {

std::string place_of(const std::source_location& where) {
    // The compiler gives each path as it was called with it: absolute, or from the build's folder.
    constexpr std::string_view own = "dedup/base/expects.cc";
    const std::string_view here = std::source_location::current().file_name();
    std::string_view file = where.file_name();
    if (here.ends_with(own) && file.starts_with(here.substr(0, here.size() - own.size()))) {
        file.remove_prefix(here.size() - own.size());
    }
    while (file.starts_with("../")) file.remove_prefix(3);
    if (file.starts_with("/")) file.remove_prefix(file.rfind('/') + 1);
    return std::string(file) + ":" + std::to_string(where.line());
}

}  // namespace onceward
