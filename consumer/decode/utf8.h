#pragma once
// Whether bytes are UTF-8. A pure function.

#include <string_view>

namespace onceward {

bool is_utf8(std::string_view bytes);

}  // namespace onceward
