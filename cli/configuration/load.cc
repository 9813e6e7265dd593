#include "cli/configuration/load.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "cli/configuration/checks.h"
#include "cli/configuration/origins.h"
#include "cli/configuration/values.h"
#include "consumer/decode/decoder.h"
#include "consumer/decode/registry_decoder.h"
#include "dedup/base/expects.h"

namespace onceward {
namespace {

void resolve(std::string& path, const std::filesystem::path& folder) {
    if (!path.empty()) path = (folder / path).lexically_normal().string();
}

bool is_file(const std::string& text) { return text.find("://") == std::string::npos; }

void resolve_format(FormatOptions& format, const std::filesystem::path& folder) {
    resolve(format.descriptor_set, folder);
    for (std::string& file : format.proto_files) resolve(file, folder);
    for (std::string& path : format.proto_paths) resolve(path, folder);
}

// Relative paths in a configuration start at its own folder, wherever the program is started.
void resolve_paths(Configuration& configuration, const std::filesystem::path& folder) {
    for (TopicConfiguration& topic : configuration.topics) {
        resolve_format(topic.format, folder);
        if (auto* webhook = std::get_if<WebhookOptions>(&topic.sink)) {
            resolve(webhook->ca_file, folder);
        }
    }
    for (auto& [place, route] : configuration.route_sinks) resolve_format(route.format, folder);
    for (RouteConfiguration& route : configuration.http.routes) {
        resolve(route.upstream.ca_file, folder);
    }
    AdminConfiguration& admin = configuration.admin_access;
    for (std::string* file : {&admin.certificate_file, &admin.key_file, &admin.client_ca_file}) {
        resolve(*file, folder);
    }
    resolve(configuration.traces.ca_file, folder);
    for (RegistryConfiguration& registry : configuration.registries) {
        for (std::string* file : {&registry.token_file, &registry.ca_file,
                                  &registry.certificate_file, &registry.key_file}) {
            resolve(*file, folder);
        }
    }
    HttpConfiguration& http = configuration.http;
    resolve(http.server.certificate_file, folder);
    resolve(http.server.key_file, folder);
    if (is_file(http.jwks)) resolve(http.jwks, folder);
    resolve(http.jwks_ca_file, folder);
}

// The paths of the payload that a topic's key, fingerprint and sink read.
std::vector<std::string> wanted_paths(const TopicConfiguration& topic) {
    std::vector<std::string> paths;
    for (const KeySource& source : topic.key.sources) {
        // A preset's JSON pointer is not looked for in other formats.
        if (source.only_json && topic.format.format != Format::json) continue;
        if (source.kind == KeySource::Kind::field) paths.push_back(source.name);
        std::ranges::copy(source.names, std::back_inserter(paths));
    }
    std::vector<FieldSource> sources;
    if (topic.key.minted_at.kind == MintedSource::Kind::field) {
        sources.push_back({FieldSource::Kind::field, topic.key.minted_at.name});
    }
    if (topic.key.tenant) sources.push_back(*topic.key.tenant);
    for (const std::string& field : topic.key.fingerprint.fields) {
        sources.push_back({FieldSource::Kind::field, field});
    }
    for (const ColumnOptions& column : columns_of(topic)) sources.push_back(column.source);
    for (const OutboxOptions* outbox : outboxes_of(topic)) {
        std::ranges::copy(sources_of(*outbox), std::back_inserter(sources));
    }
    for (const FieldSource& source : sources) {
        if (source.kind == FieldSource::Kind::field) paths.push_back(source.text);
    }
    return paths;
}

// A registry is not asked here: what the schemas have shows when messages are read.
class NoSchemas final : public SchemaSource {
  public:
    SchemaAnswer find(const SchemaId&) override { return {}; }
};

void check_decoder(const TopicConfiguration& topic) {
    if (topic.registry.empty()) {
        make_decoder(topic.format, wanted_paths(topic));
    } else {
        make_registry_decoder(topic.format, wanted_paths(topic), std::make_shared<NoSchemas>());
    }
}

std::string lines_of(const std::vector<Finding>& findings, const std::string& file) {
    std::string text;
    for (const Finding& finding : findings) text += to_text(finding, file) + "\n";
    return text;
}

}  // namespace

ConfigurationError::ConfigurationError(std::vector<Finding> wrong, std::string in_file)
    : std::runtime_error(lines_of(wrong, in_file)),
      findings(std::move(wrong)),
      file(std::move(in_file)) {}

bool LoadResult::usable() const {
    return std::ranges::find(findings, Finding::Severity::error, &Finding::severity) ==
           findings.end();
}

LoadResult load_configuration_text(const std::string& text, const std::string& file,
                                   const LoadOptions& options) {
    LoadResult result;
    result.configuration.file = file;
    Report report;
    std::optional<Node> root = parse_yaml(text, report);
    if (root) {
        const std::filesystem::path folder = std::filesystem::path(file).parent_path();
        substitute(*root, folder, options, report);
        read_configuration(*root, result.configuration, report);
        resolve_paths(result.configuration, folder);
        result.configuration.origins = option_origins(*root);
        result.passwords = clear_passwords(*root);
        // If the root is not a mapping, nothing was read, not even the defaults.
        if (root->kind == Node::Kind::mapping) check_combinations(result.configuration, report);
    }
    result.findings = report.sorted();
    result.unknown = report.unknown();
    return result;
}

LoadResult load_configuration(const std::string& file, const LoadOptions& options) {
    std::error_code ignored;
    const bool folder = std::filesystem::is_directory(file, ignored);
    errno = 0;
    std::ifstream stream(file, std::ios::binary);
    std::string text;
    if (stream && !folder) text.assign(std::istreambuf_iterator<char>(stream), {});
    if (!stream || folder) {
        const char* why = folder ? "it is a folder" : std::strerror(errno);
        const std::string text = "The file cannot be read: " + std::string(why) +
                                 ". Name another one with -c, or write one to start from: "
                                 "`onceward init > onceward.yaml`.";
        return {.configuration = {}, .findings = {{Finding::Severity::error, Mark{}, "", text}}};
    }
    return load_configuration_text(text, file, options);
}

void check_setup(LoadResult& result) {
    expects(result.usable(), "the set-up of a usable configuration is checked");
    for (const TopicConfiguration& topic : result.configuration.topics) {
        try {
            check_decoder(topic);
        } catch (const FormatError& error) {
            result.findings.push_back(
                {Finding::Severity::error, topic.mark, topic.path, error.what()});
        }
    }
}

Configuration load_or_throw(const std::string& file) {
    LoadResult loaded = load_configuration(file);
    if (loaded.usable()) loaded.findings.clear();
    return usable_or_throw(std::move(loaded), file);
}

Configuration usable_or_throw(LoadResult result, const std::string& file) {
    if (!result.usable()) {
        throw ConfigurationError(std::move(result.findings), file);
    }
    configure_log(result.configuration.logging);
    for (const Finding& finding : result.findings) {
        log_warning("configuration_warning", {{"finding", to_text(finding, file)}});
    }
    return std::move(result.configuration);
}

}  // namespace onceward
