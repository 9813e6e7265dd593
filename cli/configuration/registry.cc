#include "cli/configuration/registry.h"

#include <algorithm>

#include "cli/configuration/checks.h"
#include "cli/configuration/option_binding.h"
#include "cli/configuration/option_table.h"
#include "cli/configuration/values.h"
#include "dedup/sink/http_header_rules.h"
#include "sinks/webhook/rules.h"

namespace onceward {

const std::vector<OptionSpec> registry_options = {
    {"registries[].name", must_be_given, into([](To& to) { return &to.registry->name; }),
     "A schema registry with Confluent's HTTP protocol: what topics call it in `registry`. "
     "Letters, digits, `-` and `_`.",
     "Each has a thread of its own, which fetches schemas. While it cannot be reached, partitions "
     "whose next message has a schema that is not known yet are read no further; the others "
     "continue."},
    {"registries[].urls", must_be_given, into([](To& to) { return &to.registry->urls; }),
     "Its addresses, such as `[https://registry.example.com]`; for Apicurio with the path "
     "`/apis/ccompat/v7`. The next one is asked if one does not answer or does not know the "
     "schema.",
     "A schema is unknown only if every address says so. While one of them does not answer, a "
     "message whose schema the others do not know is not read yet."},
    {"registries[].username", "", into([](To& to) { return &to.registry->username; }),
     "The name of its basic login."},
    {"registries[].password", "", into([](To& to) { return &to.registry->password; }),
     "The password of its basic login. A secret: it is never printed."},
    {"registries[].token", "", into([](To& to) { return &to.registry->token; }),
     "A bearer token, in place of name and password. A secret: it is never printed."},
    {"registries[].token_file", "", into([](To& to) { return &to.registry->token_file; }),
     "A file with the bearer token, read again for each request, so that it may be renewed; "
     "relative to this configuration's folder."},
    {"registries[].ca_file", "", into([](To& to) { return &to.registry->ca_file; }),
     "A file of PEM certificates to trust in place of the system's; relative to this "
     "configuration's folder."},
    {"registries[].certificate_file", "",
     into([](To& to) { return &to.registry->certificate_file; }),
     "A PEM file with the certificate that is shown to the registry (mutual TLS)."},
    {"registries[].key_file", "", into([](To& to) { return &to.registry->key_file; }),
     "The PEM file with that certificate's private key."},
    {"registries[].timeout", "10s",
     into([](To& to) { return &to.registry->timeout; }, {100, 60 * second}),
     "How long one request may take.", "With a longer value the next address is asked later."},
    {"registries[].cache.schemas", "1000",
     into([](To& to) { return &to.registry->schemas; }, {1, 1'000'000}),
     "Schemas that are kept, at most; the least recently used ones are forgotten.",
     "If topics use more than that at a time, they are fetched again and again."},
    {"registries[].cache.bytes", "64MiB",
     into_size([](To& to) { return &to.registry->bytes; }, {1 << 20, std::int64_t{1} << 30}),
     "Bytes of schemas that are kept, at most."},
    {"registries[].unknown_for", "60s",
     into([](To& to) { return &to.registry->unknown_for; }, {100, hour}),
     "How long it is remembered that the registry has no such schema, or one that cannot be used.",
     "With a longer value the registry is asked less often. Messages of a schema that was "
     "registered meanwhile go to the dead letters until then."},
};

bool is_registry_address(const std::string& url) {
    return call_address(url).has_value() && url.find_first_of("?#") == std::string::npos;
}

namespace {

constexpr std::size_t longest_name = 40;

bool needs_registry(const FormatOptions& format) {
    if (format.format == Format::avro) return true;
    return format.format == Format::protobuf && format.descriptor_set.empty() &&
           format.proto_files.empty();
}

void check_urls(const RegistryConfiguration& registry, const Section& at) {
    if (registry.urls.empty() && at.known("urls")) {
        at.error("urls", "There is no address. Write `urls: [https://registry.example.com]`.");
    }
    for (const std::string& url : registry.urls) {
        const auto address = call_address(url);
        if (!is_registry_address(url)) {
            at.error("urls",
                     "This is not a registry's address (not shown, because it may hold a "
                     "password). Write one such as `https://registry.example.com`; the login is "
                     "in `username` and `password`.");
            return;
        }
        const bool login =
            !registry.username.empty() || !registry.token.empty() || !registry.token_file.empty();
        const auto network = parse_network(address->host);
        const bool near = address->host == "localhost" || (network && is_special(network->address));
        if (!address->tls && !near && login) {
            at.warning("urls",
                       "The login goes over the network in clear. Write `https://` instead.");
        }
    }
}

void check_login(const RegistryConfiguration& registry, const Section& at) {
    const bool basic = at.given("username") || at.given("password");
    at.check({
        {at.given("username") != at.given("password"), at.given_of("username", "password"),
         "A basic login has both. Write `username` and `password`."},
        {basic && (at.given("token") || at.given("token_file")), at.given_of("token", "token_file"),
         "Give either a basic login or a token, not both."},
        {at.given("token") && at.given("token_file"), "token_file",
         "Give either `token` or `token_file`, not both."},
        {at.given("certificate_file") != at.given("key_file"),
         at.given_of("certificate_file", "key_file"),
         "A certificate needs its key. Write `certificate_file` and `key_file`."},
    });
    if (!registry.token.empty()) check_header_value(registry.token, "token", at);
    const std::pair<const char*, const std::string*> files[] = {
        {"token_file", &registry.token_file},
        {"ca_file", &registry.ca_file},
        {"certificate_file", &registry.certificate_file},
        {"key_file", &registry.key_file}};
    for (const auto& [option, file] : files) {
        if (!file->empty()) check_file(*file, option, at);
    }
}

void check_topic_registry(const TopicConfiguration& topic, const std::vector<std::string>& known,
                          Report& report) {
    const Section at(report, topic.path);
    if (!at.known("registry") || !at.known("format")) return;
    if (topic.registry.empty()) {
        if (topic.format.format != Format::avro) return;
        return at.error("format",
                        "Avro is read by the schemas of a registry. Write `registry: NAME`, and "
                        "below `registries:` its `name` and `urls`.");
    }
    if (std::ranges::find(known, topic.registry) == known.end()) {
        std::string advice = guess(topic.registry, known);
        if (advice == ".") {
            advice = known.empty()
                         ? ". Write `registries:`, and below it `- name: " + topic.registry +
                               "` with its `urls`."
                         : ". Known are " + one_of(known) + ".";
        }
        return at.error("registry", "There is no registry `" + topic.registry + "`" + advice);
    }
    at.check({
        {topic.format.format == Format::raw, "registry",
         "`format: raw` reads no schema. Write another format, or remove this."},
    });
    at.refuse({"protobuf.descriptor_set", "protobuf.proto_files", "protobuf.proto_paths"},
              "The registry `" + topic.registry +
                  "` has the types. Remove this, or `registry` and `framing`.");
}

}  // namespace

void tie_registries(Configuration& configuration, Report& report) {
    for (TopicConfiguration& topic : configuration.topics) {
        const bool only_one = configuration.registries.size() == 1;
        if (topic.registry.empty() && only_one && needs_registry(topic.format)) {
            topic.registry = configuration.registries.front().name;
        }
        if (topic.registry.empty()) continue;
        const std::string framing = topic.path + ".framing";
        if (report.given(framing) && topic.format.framing == Framing::none) {
            report.error_at(framing,
                            "A registry's messages have a frame with the schema's id. Remove "
                            "this, or write `confluent`.");
        }
        topic.format.framing = Framing::confluent;
    }
}

void check_registries(const Configuration& configuration, Report& report) {
    std::vector<std::string> known;
    for (std::size_t index = 0; index < configuration.registries.size(); ++index) {
        const RegistryConfiguration& registry = configuration.registries[index];
        const Section at(report, "registries[" + std::to_string(index) + "]");
        const bool fits = registry.name.size() <= longest_name && has_only(registry.name, "-_");
        at.check({
            {!fits, "name",
             "This is not a registry's name here (letters, digits, `-`, `_`, 40 at most)."},
            {std::ranges::find(known, registry.name) != known.end() && !registry.name.empty(),
             "name", "The registry `" + registry.name + "` is given twice. Keep one of them."},
        });
        check_urls(registry, at);
        check_login(registry, at);
        known.push_back(registry.name);
        const bool used =
            std::ranges::find(configuration.topics, registry.name, &TopicConfiguration::registry) !=
            configuration.topics.end();
        if (!used && at.known("name")) {
            at.warning("", "No topic uses the registry `" + registry.name +
                               "`. Write `registry: " + registry.name + "` at one, or remove it.");
        }
    }
    for (const TopicConfiguration& topic : configuration.topics) {
        check_topic_registry(topic, known, report);
    }
}

}  // namespace onceward
