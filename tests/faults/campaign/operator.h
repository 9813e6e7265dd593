#pragma once
// Runs the release program's commands for operators, as their user, and writes down what each
// changed on purpose. A value; the files are shared, and each line is written under a lock.

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "tests/faults/campaign/names.h"

namespace onceward::campaign {

// How long an operator's commands, and what has to come after them, are waited for.
inline constexpr std::chrono::milliseconds operator_patience{20'000};

struct Operator {
    std::filesystem::path configuration;
    std::filesystem::path log;
    std::filesystem::path notes;  // one JSON object a line, for the checker

    // The exit code; -1: it was killed, or did not end in time.
    int run(const std::vector<std::string>& words,
            std::optional<std::chrono::milliseconds> killed_after = {}) const;
    // Says it again until it ends with one of these; false where it does not in time.
    bool until(const std::vector<std::string>& words, std::initializer_list<int> ends) const;
    // `from_us`: just before the command; now is just after it.
    void note(const std::string& what, const std::string& topic, const std::string& key,
              std::int64_t from_us) const;
};

// With the operator's own configuration and log in the seed's folder.
Operator operator_of(const Names& names);

}  // namespace onceward::campaign
