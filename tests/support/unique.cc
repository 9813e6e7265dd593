#include "tests/support/unique.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <iostream>
#include <random>

namespace onceward::support {

std::string unique_name(const std::string& prefix) {
    static const unsigned random = std::random_device()();
    static std::atomic<int> counter = 0;
    return prefix + "_" + std::to_string(getpid()) + "_" + std::to_string(random % 1'000'000) +
           "_" + std::to_string(++counter);
}

std::uint64_t seed() {
    const char* given = std::getenv("ONCEWARD_SEED");
    const std::uint64_t value =
        given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
    std::cout << "seed: ONCEWARD_SEED=" << value << std::endl;
    ::testing::Test::RecordProperty("seed", std::to_string(value));
    return value;
}

}  // namespace onceward::support
