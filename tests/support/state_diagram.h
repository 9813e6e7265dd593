#pragma once
// Compares a diagram of docs/states.md with the state machine of the code, and the page's tables
// with its names. For tests; the test program defines ONCEWARD_SOURCE_FOLDER.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <string>

#include "dedup/base/state_machine.h"

namespace onceward::support {

// What a page says, or what a machine does.
struct Diagram {
    std::set<std::string> arrows;  // FROM --> TO: EVENT
    std::set<std::string> names;   // of states and events
};

template <class State, class Event, std::size_t states, std::size_t events>
Diagram diagram_of(const StateMachine<State, Event, states, events>& machine) {
    Diagram diagram;
    for (std::size_t from = 0; from < states; ++from) {
        diagram.names.emplace(machine.names[from]);
        for (const auto& row : machine.rows) {
            diagram.names.emplace(row.event);
            if (!row.after[from] || *row.after[from] == static_cast<State>(from)) continue;
            diagram.arrows.insert(std::string(machine.names[from]) + " --> " +
                                  std::string(machine.text(*row.after[from])) + ": " +
                                  std::string(row.event));
        }
    }
    return diagram;
}

inline Diagram diagram_of_page(const std::string& heading) {
    std::ifstream page(ONCEWARD_SOURCE_FOLDER "/docs/states.md");
    const std::regex arrow(R"(\s+(\w+ --> \w+: \w+))");
    const std::regex row(R"(\| (`\w+`(?:, `\w+`)*) \|.*)");
    const std::regex name(R"(\w+)");
    Diagram diagram;
    bool here = false;
    for (std::string line; std::getline(page, line);) {
        if (line.starts_with("## ")) here = line == "## " + heading;
        std::smatch found;
        if (here && std::regex_match(line, found, arrow)) diagram.arrows.insert(found[1]);
        if (!here || !std::regex_match(line, found, row)) continue;
        const std::string cell = found[1];
        const std::sregex_iterator end;
        for (auto at = std::sregex_iterator(cell.begin(), cell.end(), name); at != end; ++at) {
            diagram.names.insert(at->str());
        }
    }
    return diagram;
}

template <class Machine>
void expect_drawn(const Machine& machine, const std::string& heading) {
    const Diagram code = diagram_of(machine);
    const Diagram page = diagram_of_page(heading);
    EXPECT_THAT(page.arrows, testing::ElementsAreArray(code.arrows));
    EXPECT_THAT(page.names, testing::ElementsAreArray(code.names));
}

}  // namespace onceward::support
