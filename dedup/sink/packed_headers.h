#pragma once
// A record's headers as one string of bytes, as the outbox's rows keep them: for each its name and
// its value, both preceded by their length (int32 in network byte order; -1: a null value). Pure,
// thread-safe.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dedup/message/message.h"

namespace onceward {

std::string header_bytes(std::span<const Header> headers);

// Views into `bytes`, in their order. Throws std::runtime_error if `bytes` do not have this form.
std::vector<Header> headers_of(std::string_view bytes);

}  // namespace onceward
