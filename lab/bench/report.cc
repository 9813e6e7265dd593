#include "lab/bench/report.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/terminal/output.h"
#include "lab/bench/format.h"

namespace onceward::bench {
namespace {

using Cells = std::vector<std::string>;

std::string limit_text(const Target& target, double value) {
    return (target.better == Better::lower ? "<= " : ">= ") + three_digits(value);
}

std::string verdict(bool reached) { return reached ? "reached" : "missed"; }

const Cells verdict_header{"row", "what",  "against", "ratio", "min",
                           "max", "floor", "",        "goal",  ""};

Cells verdict_cells(const Outcome& outcome) {
    const Target& target = *outcome.target;
    return {std::string(target.row),
            std::string(target.name),
            std::string(target.against),
            three_digits(outcome.value.median),
            three_digits(outcome.value.minimum),
            three_digits(outcome.value.maximum),
            limit_text(target, target.floor),
            verdict(outcome.reached()),
            limit_text(target, target.goal),
            verdict(goal_reached(target, outcome.value.median))};
}

const Cells line_header{"row",          "setting",        "messages/s",         "min",
                        "max",          "worker CPU s/M", "PostgreSQL CPU s/M", "broker CPU s/M",
                        "WAL B/message"};

Cells line_cells(const RowResult& row, const Line& line) {
    return {std::string(row.row),        line.setting,
            fixed(line.rate.median, 0),  fixed(line.rate.minimum, 0),
            fixed(line.rate.maximum, 0), fixed(line.cpu.worker, 2),
            fixed(line.cpu.postgres, 2), fixed(line.cpu.broker, 2),
            fixed(line.wal, 1)};
}

template <class Add>
void each_line(const Report& report, Add add) {
    for (const RowResult& row : report.rows) {
        for (const Line& line : row.lines) add(line_cells(row, line));
    }
}

std::string markdown_row(const Cells& cells) {
    std::string text = "|";
    for (const std::string& cell : cells) text += " " + cell + " |";
    return text + "\n";
}

std::string markdown_head(const Cells& cells) {
    std::string text = markdown_row(cells) + "|";
    for (std::size_t i = 0; i < cells.size(); ++i) text += "---|";
    return text + "\n";
}

// Why the report has nothing of a row.
std::string why_missing(const Report& report, const Target& target) {
    switch (target.by) {
        case MeasuredBy::peers: return "not run: it needs a peer program (`make bench-peers`)";
        case MeasuredBy::bench: break;
    }
    const auto row = std::ranges::find(report.rows, target.row, &RowResult::row);
    if (row == report.rows.end()) return "not run";
    return "not run: it failed (" + row->failure + ")";
}

const Outcome* outcome_of(const Report& report, const Target& target) {
    for (const RowResult& row : report.rows) {
        const auto found = std::ranges::find(row.outcomes, &target, &Outcome::target);
        if (found != row.outcomes.end()) return &*found;
    }
    return nullptr;
}

nlohmann::ordered_json json_of(const RowResult& row, const Outcome& outcome) {
    const Target& target = *outcome.target;
    return {{"row", target.row},
            {"name", target.name},
            {"against", target.against},
            {"ratio", outcome.value.median},
            {"min", outcome.value.minimum},
            {"max", outcome.value.maximum},
            {"floor", target.floor},
            {"goal", target.goal},
            {"better", target.better == Better::lower ? "lower" : "higher"},
            {"reached", outcome.reached()},
            {"goal_reached", goal_reached(target, outcome.value.median)},
            {"setting", row.setting}};
}

nlohmann::ordered_json json_of(const RowResult& row, const Line& line) {
    return {{"row", row.row},
            {"setting", line.setting},
            {"messages_per_second", line.rate.median},
            {"min", line.rate.minimum},
            {"max", line.rate.maximum},
            {"worker_cpu_seconds_per_million", line.cpu.worker},
            {"postgres_cpu_seconds_per_million", line.cpu.postgres},
            {"broker_cpu_seconds_per_million", line.cpu.broker},
            {"wal_bytes_per_message", line.wal}};
}

nlohmann::ordered_json json_of(const RowResult& row, const LoadLatency& latency) {
    return {{"row", row.row},
            {"load", latency.load},
            {"p50_ms", latency.p50},
            {"p99_ms", latency.p99},
            {"p99_9_ms", latency.p999}};
}

constexpr const char* quick_warning =
    "A quick run: it shows that the rows run, and its figures say nothing.";
constexpr const char* reading =
    "A ratio is the median of the ratios of the pairs, each pair measured in turn in one run. CPU "
    "seconds are for a million messages, of worker, PostgreSQL and broker apart.";

}  // namespace

std::string as_text(const Report& report) {
    std::ostringstream text;
    TextTable verdicts(verdict_header);
    TextTable lines(line_header);
    bool any_line = false;
    for (const RowResult& row : report.rows) {
        for (const Outcome& outcome : row.outcomes) verdicts.add(verdict_cells(outcome));
    }
    each_line(report, [&](const Cells& cells) {
        lines.add(cells);
        any_line = true;
    });
    verdicts.print(text);
    if (any_line) {
        text << '\n';
        lines.print(text);
    }
    text << '\n';
    for (const RowResult& row : report.rows) {
        if (!row.failure.empty()) text << "row " << row.row << " failed: " << row.failure << '\n';
        if (row.failure.empty()) text << "row " << row.row << ": " << row.setting << ".\n";
        for (const std::string& note : row.notes) text << "  " << note << '\n';
    }
    text << '\n' << reading << '\n';
    for (const auto& [name, value] : report.circumstances) text << name << ": " << value << '\n';
    if (report.quick) text << quick_warning << '\n';
    return text.str();
}

std::string as_json(const Report& report) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    nlohmann::ordered_json lines = nlohmann::ordered_json::array();
    nlohmann::ordered_json latencies = nlohmann::ordered_json::array();
    nlohmann::ordered_json notes = nlohmann::ordered_json::array();
    nlohmann::ordered_json failed = nlohmann::ordered_json::array();
    nlohmann::ordered_json circumstances = nlohmann::ordered_json::object();
    for (const auto& [name, value] : report.circumstances) circumstances[name] = value;
    for (const RowResult& row : report.rows) {
        for (const Outcome& outcome : row.outcomes) rows.push_back(json_of(row, outcome));
        for (const Line& line : row.lines) lines.push_back(json_of(row, line));
        for (const LoadLatency& each : row.latencies) latencies.push_back(json_of(row, each));
        for (const std::string& note : row.notes) {
            notes.push_back({{"row", row.row}, {"note", note}});
        }
        if (!row.failure.empty()) failed.push_back({{"row", row.row}, {"why", row.failure}});
    }
    const nlohmann::ordered_json all{{"quick", report.quick},  {"circumstances", circumstances},
                                     {"rows", rows},           {"settings", lines},
                                     {"latencies", latencies}, {"notes", notes},
                                     {"failed", failed}};
    return all.dump(2) + "\n";
}

std::string as_markdown(const Report& report) {
    std::string text = report.rows.size() == 1 ? "# Performance, row " : "# Performance, rows ";
    for (const RowResult& row : report.rows) {
        if (&row != &report.rows.front()) text += ", ";
        text += row.row;
    }
    text += "\n\nWritten by `onceward-lab bench --write`: measure it yourself with `make bench`.\n";
    if (report.quick) text += std::string("**") + quick_warning + "**\n";
    text += "\n";
    for (const auto& [name, value] : report.circumstances) {
        text += "- " + name + ": " + value + "\n";
    }
    text += std::string("\n") + reading +
            " Each row has two limits. A result that misses the floor is a regression. The goal is "
            "what we want to reach.\n\n## Rows\n\n" +
            markdown_head(verdict_header);
    for (const Target& target : targets()) {
        if (const Outcome* outcome = outcome_of(report, target)) {
            text += markdown_row(verdict_cells(*outcome));
            continue;
        }
        text += markdown_row({std::string(target.row), std::string(target.name),
                              std::string(target.against), why_missing(report, target), "", "",
                              limit_text(target, target.floor), "", limit_text(target, target.goal),
                              ""});
    }
    text += "\n## Rates\n\n" + markdown_head(line_header);
    each_line(report, [&](const Cells& cells) { text += markdown_row(cells); });
    text += "\n## Settings\n\n";
    for (const RowResult& row : report.rows) {
        if (!row.failure.empty()) continue;
        text += "- Row " + std::string(row.row) + ": " + row.setting + ".";
        for (const std::string& note : row.notes) text += " Also: " + note + ".";
        text += "\n";
    }
    return text;
}

}  // namespace onceward::bench
