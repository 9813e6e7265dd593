#include "cli/error_report.h"

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/terminal/output.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/style.h"
#include "consumer/kafka/kafka_error.h"
#include "consumer/produce/producer.h"
#include "dedup/postgres/error.h"
#include "dedup/server/migration.h"

namespace onceward {
namespace {

// libpq writes a line for each address that it tried. Below it, indented, are its guesses, which
// the hint says better.
std::string one_line(const std::string& text) {
    std::istringstream lines(text);
    std::string out;
    for (std::string line; std::getline(lines, line);) {
        if (line.empty() || line.front() == '\t') continue;
        out += (out.empty() ? "" : "; ") + line;
    }
    return out;
}

void describe_postgres(const PostgresError& error, ErrorReport& report) {
    const std::string& sqlstate = error.sqlstate();
    report.code = "postgres";
    if (sqlstate == "42501") {
        report.code = "missing_right";
        report.hint = missing_right_hint;
    } else if (report.message.find(" FATAL: ") != std::string::npos) {
        // libpq has no SQLSTATE of a session that was refused.
        report.code = "postgres_refused";
        report.hint =
            "the server answers and refuses the session: check user, password and database of "
            "`postgres.dsn`, or of --dsn";
    } else if (error.diagnosis().connection_lost || sqlstate.starts_with("08")) {
        report.code = "postgres_unreachable";
        report.hint =
            "is PostgreSQL running, and is `postgres.dsn`, or --dsn, its address? `onceward check "
            "--connect` asks all servers";
    }
}

void describe_configuration(const ConfigurationError& error, ErrorReport& report) {
    report.exit = exit_config;
    report.code = "configuration";
    report.file = error.file;
    report.findings = error.findings;
    // Without a place the file could not be read at all, and the finding says what to do.
    const bool read = std::ranges::any_of(
        error.findings, [](const Finding& finding) { return finding.mark.line > 0; });
    if (!error.file.empty() && read) {
        report.hint = "nothing was started; `onceward check -c " + error.file + "` checks again";
    }
}

std::string code_of(ExitCode code) {
    switch (code) {
        case exit_ok: return "ok";
        case exit_failure: return "failure";
        case exit_not_found: return "not_found";
        case exit_warning: return "warning";
        case exit_restart: return "restart";
        case exit_danger: return "danger";
        case exit_usage: return "usage";
        case exit_data: return "data";
        case exit_software: return "software";
        case exit_memory: return "memory";
        case exit_config: return "configuration";
        case exit_interrupted: return "interrupted";
    }
    return "failure";
}

template <class Error>
bool is(const std::exception& error) {
    return dynamic_cast<const Error*>(&error) != nullptr;
}

}  // namespace

ErrorReport describe_error(const std::exception& error) {
    ErrorReport report;
    report.message = one_line(error.what());
    if (const auto* command = dynamic_cast<const CommandError*>(&error)) {
        report.exit = command->code;
        report.code = code_of(command->code);
        report.hint = command->hint;
    } else if (const auto* configuration = dynamic_cast<const ConfigurationError*>(&error)) {
        describe_configuration(*configuration, report);
    } else if (const auto* postgres = dynamic_cast<const PostgresError*>(&error)) {
        describe_postgres(*postgres, report);
    } else if (is<KafkaError>(error) || is<ProducerError>(error)) {
        report.code = "kafka";
        report.hint =
            "`kafka.bootstrap_servers` and the credentials are checked by `onceward check "
            "--connect`";
    } else if (is<MigrationError>(error)) {
        report.code = "schema";
    }
    return report;
}

nlohmann::ordered_json error_json(const ErrorReport& report) {
    const auto first = std::ranges::find(report.findings, Finding::Severity::error,
                                         &Finding::severity);
    const bool found = first != report.findings.end();
    nlohmann::ordered_json json{{"level", "error"},
                                {"code", report.code},
                                {"exit_code", static_cast<int>(report.exit)},
                                {"message", found ? first->message : report.message},
                                {"hint", nullptr},
                                {"location", nullptr}};
    if (!report.hint.empty()) json["hint"] = report.hint;
    if (found) {
        json["location"] = {{"file", report.file},
                            {"line", first->mark.line},
                            {"column", first->mark.column},
                            {"path", first->path}};
        json["findings"] =
            nlohmann::ordered_json::parse(findings_json(report.findings, report.file));
    }
    return json;
}

void print_error(const std::string& name, const ErrorReport& report) {
    hide_progress();
    if (messages_are_json()) {
        std::cerr << error_json(report).dump(-1, ' ', false,
                                             nlohmann::ordered_json::error_handler_t::replace)
                  << '\n';
        return;
    }
    for (const Finding& finding : report.findings) {
        print_judged(std::cerr, to_text(finding, report.file));
    }
    if (report.findings.empty()) {
        paint(std::cerr, Color::red, name + ":");
        std::cerr << ' ' << report.message << '\n';
    }
    if (!report.hint.empty()) std::cerr << "  hint: " << report.hint << '\n';
}

}  // namespace onceward
