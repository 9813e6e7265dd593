#include "tests/tidy/room_rules.h"

#include <algorithm>
#include <functional>

namespace onceward::tidy {
namespace {

constexpr std::size_t most_files = 30;

// One table of options; and the bench, which leaves the product.
const std::set<std::string> large_rooms{"cli/configuration"};

struct Room {
    std::string purpose;
    std::set<std::string> may_include;
};
using Rooms = std::map<std::string, Room>;

std::string room_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

Rooms table_of(const Tree& tree) {
    Rooms rooms;
    for (const auto& row : table_under(content(tree, "docs/architecture.md"), "Rooms")) {
        for (std::string name : quoted(row.at(0))) {
            if (name.ends_with('/')) name.pop_back();
            const auto allowed = quoted(row.at(2));
            rooms[name] = {row.at(1), {allowed.begin(), allowed.end()}};
        }
    }
    return rooms;
}

std::map<std::string, std::size_t> files_of_rooms(const Tree& tree) {
    std::map<std::string, std::size_t> files;
    for (const auto& [path, text] : tree) {
        if (in_product(path)) ++files[room_of(path)];
    }
    return files;
}

}  // namespace

Findings room_table_differences(const Tree& tree) {
    const Rooms table = table_of(tree);
    const auto real = files_of_rooms(tree);
    Findings findings;
    for (const auto& [room, files] : real) {
        const auto row = table.find(room);
        if (row == table.end()) {
            findings.push_back("the table lacks " + room);
        } else if (row->second.purpose.empty()) {
            findings.push_back("the table does not say what is in " + room);
        }
    }
    for (const auto& [room, row] : table) {
        if (!real.contains(room)) findings.push_back("only the table has " + room);
    }
    return findings;
}

Findings room_includes(const Tree& tree) {
    const Rooms table = table_of(tree);
    std::set<std::pair<std::string, std::string>> used;
    Findings findings;
    for (const auto& [path, text] : tree) {
        if (!in_product(path)) continue;
        const std::string from = room_of(path);
        const auto row = table.find(from);
        const auto lines = lines_of(text);
        for (std::size_t i = 0; i < lines.size(); ++i) {
            if (!lines[i].starts_with("#include \"")) continue;
            const std::string included = lines[i].substr(10, lines[i].rfind('"') - 10);
            const std::string to = room_of(included);
            if (to == from || !in_product(included) || !tree.contains(included)) continue;
            used.emplace(from, to);
            const bool root = to.find('/') == std::string::npos && from.starts_with(to + "/");
            const bool allowed = row != table.end() && row->second.may_include.contains(to);
            if (root || !allowed) findings.push_back(place(path, i) + " includes " + included);
        }
    }
    for (const auto& [from, row] : table) {
        for (const std::string& to : row.may_include) {
            if (!used.contains({from, to})) {
                findings.push_back(from + " does not include " + to + ", which the table allows");
            }
        }
    }
    return findings;
}

// A room is in a cycle if it can be reached from itself.
Findings room_cycles(const Tree& tree) {
    const Rooms table = table_of(tree);
    Findings findings;
    for (const auto& [start, row] : table) {
        std::set<std::string> reached;
        const std::function<void(const std::string&)> follow = [&](const std::string& room) {
            const auto next = table.find(room);
            if (next == table.end()) return;
            for (const std::string& to : next->second.may_include) {
                if (reached.insert(to).second) follow(to);
            }
        };
        follow(start);
        if (reached.contains(start)) findings.push_back(start + " reaches itself");
    }
    return findings;
}

Findings crowded_rooms(const Tree& tree) {
    Findings findings;
    for (const auto& [room, files] : files_of_rooms(tree)) {
        if (files > most_files && !large_rooms.contains(room)) {
            findings.push_back(room + " has " + std::to_string(files) + " files");
        }
    }
    return findings;
}

}  // namespace onceward::tidy
