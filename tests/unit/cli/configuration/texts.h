#pragma once
// Configurations for tests, and what is found in them.

#include <map>
#include <string>

#include "cli/configuration/load.h"

namespace onceward::test {

// The shortest one that is good, with `more` at the top level and `topic` among the topic's
// options.
inline std::string good_text(const std::string& more = "", const std::string& topic = "") {
    return "group: orders\n"
           "kafka: {bootstrap_servers: 'localhost:9092'}\n"
           "postgres: {dsn: 'host=localhost'}\n" +
           more +
           "topics:\n"
           "  - name: payments\n"
           "    key: {preset: idempotency-key}\n" +
           (topic.find("sink:") == std::string::npos
                ? std::string("    sink: {table: payments, columns: {id: /id}}\n")
                : std::string()) +
           topic;
}

inline LoadResult load(const std::string& text, std::map<std::string, std::string> variables = {},
                       bool strict = true) {
    LoadOptions options;
    options.strict_environment = strict;
    options.environment = [variables](const std::string& name) -> std::optional<std::string> {
        const auto found = variables.find(name);
        return found == variables.end() ? std::nullopt : std::optional(found->second);
    };
    return load_configuration_text(text, "test.yaml", options);
}

inline std::string all_findings(const LoadResult& result) {
    std::string text;
    for (const Finding& finding : result.findings) text += to_text(finding, "test.yaml") + "\n";
    return text;
}

}  // namespace onceward::test
