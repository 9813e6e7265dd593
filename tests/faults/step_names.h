#pragma once
// The steps at which a worker can be told to end, by name. Pure.

#include <array>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "dedup/steps.h"

namespace onceward {

inline constexpr std::array<std::pair<std::string_view, Step>, 10> named_steps{{
    {"before_begin", Step::before_begin},
    {"after_fence", Step::after_fence},
    {"after_claims", Step::after_claims},
    {"after_sink", Step::after_sink},
    {"before_commit", Step::before_commit},
    {"after_commit", Step::after_commit},
    {"after_offset", Step::after_offset},
    {"in_rebalance", Step::in_rebalance},
    {"before_take_over", Step::before_take_over},
    {"after_take_over", Step::after_take_over},
}};

inline Step step_of(const std::string& name) {
    for (const auto& [known, step] : named_steps) {
        if (known == name) return step;
    }
    throw std::runtime_error("no such step: " + name);
}

}  // namespace onceward
