#pragma once
// Base64 through OpenSSL. Text that is none is a std::runtime_error.

#include <string>

namespace onceward::checker {

std::string to_base64(const std::string& bytes);
std::string from_base64(const std::string& text);

}  // namespace onceward::checker
