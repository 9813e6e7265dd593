#pragma once
// A state machine as data: the names of its states and events, and the state after each event. An
// event that must never come in a state has no next state: its caller keeps the state, and reports
// the event. docs/states.md draws each machine, and a test compares the two. Pure; thread-safe.

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace onceward {

// Rows and columns are in the order of the enums. If a cell has its own column's state, the event
// changes nothing there.
template <class State, class Event, std::size_t states, std::size_t events>
struct StateMachine {
    struct Row {
        std::string_view event;
        std::array<std::optional<State>, states> after;
    };
    std::array<std::string_view, states> names;
    std::array<Row, events> rows;

    constexpr std::string_view text(State state) const {
        return names[static_cast<std::size_t>(state)];
    }
    constexpr std::string_view text(Event event) const { return row(event).event; }
    // nullopt if the event must never come in this state.
    constexpr std::optional<State> after(State state, Event event) const {
        return row(event).after[static_cast<std::size_t>(state)];
    }

  private:
    constexpr const Row& row(Event event) const { return rows[static_cast<std::size_t>(event)]; }
};

}  // namespace onceward
