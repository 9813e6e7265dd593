// The configuration file's reader: YAML, variables, options, checks. No text ends the program, and
// no finding shows what a variable held.

#include <nlohmann/json.hpp>

#include "cli/configuration/load.h"
#include "tests/fuzz/fuzz.h"

namespace {

constexpr std::string_view secret = "canary-5e1c7a";

std::optional<std::string> environment(const std::string& name) {
    if (name == "SECRET") return std::string(secret);
    if (name == "EMPTY") return "";
    return std::nullopt;
}

std::string findings_of(const onceward::LoadResult& result) {
    std::string text;
    for (const onceward::Finding& finding : result.findings) {
        text += to_text(finding, "fuzz.yaml") + "\n";
    }
    return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace onceward;
    const std::string text(fuzz::text_of(data, size));
    LoadOptions options;
    options.environment = environment;
    const LoadResult first = load_configuration_text(text, "fuzz.yaml", options);
    const std::string findings = findings_of(first);
    if (size % 8 == 0) {  // now and then, as loading is what takes the time
        const LoadResult second = load_configuration_text(text, "fuzz.yaml", options);
        fuzz::require(findings == findings_of(second), "the same text has the same findings");
        fuzz::require(nlohmann::json::accept(findings_json(first.findings, "fuzz.yaml")),
                      "the findings' JSON is JSON");
    }
    fuzz::require(first.usable() || !findings.empty(), "an unusable text has a finding");
    for (const Finding& finding : first.findings) {
        fuzz::require(!finding.message.empty(), "a finding says something");
    }
    if (text.find(secret) == std::string::npos) {
        fuzz::require(findings.find(secret) == std::string::npos, "no finding holds a secret");
    }
    return 0;
}
