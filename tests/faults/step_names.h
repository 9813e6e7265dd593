#pragma once
// The steps at which a worker can be told to end, by name. Pure.

#include <array>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "dedup/base/step_observer.h"

namespace onceward {

// Those that every worker comes by.
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

// That of the one relay that leads its group.
inline constexpr std::string_view relay_step = "before_outbox_delete";

inline Step step_of(const std::string& name) {
    for (const auto& [known, step] : named_steps) {
        if (known == name) return step;
    }
    if (name == relay_step) return Step::before_outbox_delete;
    throw std::runtime_error("no such step: " + name);
}

inline std::string_view name_of_step(Step wanted) {
    for (const auto& [name, step] : named_steps) {
        if (step == wanted) return name;
    }
    return wanted == Step::before_outbox_delete ? relay_step : "";
}

}  // namespace onceward
