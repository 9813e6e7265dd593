#pragma once
// A TCP port of 127.0.0.1 that nobody listens on. Thread-safe; throws std::runtime_error where none
// is found. It lies below the range that the kernel takes for outgoing connections, so that a
// server which is stopped and started again finds it still free.

#include <cstdint>

namespace onceward {

std::uint16_t free_port();

}  // namespace onceward
