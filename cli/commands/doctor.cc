// `onceward doctor`: one page about what a configuration needs around it.

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/commands/commands.h"
#include "cli/configuration/load.h"
#include "cli/doctor/probes.h"
#include "cli/terminal/command.h"
#include "cli/terminal/config_file.h"
#include "cli/terminal/counted.h"
#include "cli/terminal/help.h"

namespace onceward {
namespace {

struct DoctorOptions {
    ConfigFile config;
    std::string timeout = "2s";
    bool json = false;
};

std::string padded(std::string text, std::size_t width) {
    if (text.size() < width) text.append(width - text.size(), ' ');
    return text;
}

std::string milliseconds_text(std::chrono::microseconds took) {
    std::array<char, 32> room{};
    std::snprintf(room.data(), room.size(), "%.1f ms", static_cast<double>(took.count()) / 1000);
    return room.data();
}

void print_page(const std::vector<ProbeResult>& results) {
    std::string area;
    std::map<ProbeVerdict, std::size_t> counts;
    for (const ProbeResult& result : results) {
        if (result.area != area) std::cout << (area.empty() ? "" : "\n") << result.area << '\n';
        area = result.area;
        std::cout << "  " << result.name << " (" << milliseconds_text(result.took) << ")\n";
        for (const ProbeRow& row : result.rows) {
            ++counts[row.verdict];
            std::cout << "    " << padded(std::string(to_text(row.verdict)), 9) << row.text << '\n';
            if (!row.next.empty()) std::cout << std::string(13, ' ') << "-> " << row.next << '\n';
        }
    }
    std::cout << '\n'
              << counts[ProbeVerdict::ok] << " ok, "
              << counted(counts[ProbeVerdict::warning], "warning") << ", "
              << counted(counts[ProbeVerdict::fault], "fault") << std::endl;
}

void print_as_json(const std::vector<ProbeResult>& results) {
    nlohmann::ordered_json json = {{"verdict", to_text(worst(results))},
                                   {"probes", nlohmann::ordered_json::array()}};
    for (const ProbeResult& result : results) {
        nlohmann::ordered_json probe = {{"area", result.area},
                                        {"name", result.name},
                                        {"milliseconds", result.took.count() / 1000.0},
                                        {"answered", result.answered},
                                        {"findings", nlohmann::ordered_json::array()}};
        for (const ProbeRow& row : result.rows) {
            probe["findings"].push_back(
                {{"verdict", to_text(row.verdict)}, {"text", row.text}, {"next", row.next}});
        }
        json["probes"].push_back(std::move(probe));
    }
    std::cout << json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace)
              << std::endl;
}

int exit_of(ProbeVerdict verdict) {
    switch (verdict) {
        case ProbeVerdict::ok:
        case ProbeVerdict::note: return exit_ok;
        case ProbeVerdict::warning: return exit_warning;
        case ProbeVerdict::fault: return exit_failure;
    }
    return exit_failure;
}

int doctor(const DoctorOptions& options) {
    const auto limit = parse_duration(options.timeout);
    usage_error_if(!limit || *limit < std::chrono::milliseconds(100),
                   "--timeout takes a duration of 100ms or more, such as 2s");
    const std::vector<ProbeResult> results = examine(load_or_throw(options.config.path()), *limit);
    if (options.json) {
        print_as_json(results);
    } else {
        print_page(results);
    }
    const int code = exit_of(worst(results));
    const bool all = std::ranges::all_of(results, &ProbeResult::answered);
    // A thread that still waits for an answer must not outlive what it uses.
    if (!all) std::_Exit(code);
    return code;
}

}  // namespace

void add_doctor(CLI::App& program, Commands& commands) {
    CLI::App* command = program.add_subcommand(
        "doctor", "Ask brokers, databases and the running process whether all is well");
    auto options = std::make_shared<DoctorOptions>();
    add_config_option(*command, options->config);
    command->add_option("--timeout", options->timeout, "How long each probe may take")
        ->capture_default_str()
        ->type_name("DURATION");
    command->add_flag("--json", options->json, "Print one JSON object: the verdict, each probe");
    end_help(*command, {.notes = "Writes nothing and joins no group.",
                        .examples = {{"doctor", "one page"},
                                     {"doctor --timeout 10s", "over a slow network"}},
                        .exit_codes = {{exit_ok, "all is well"},
                                       {exit_failure, "a fault"},
                                       {exit_warning, "a warning"}}});
    commands.add(*command, [options] { return doctor(*options); });
}

}  // namespace onceward
