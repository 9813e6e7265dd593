#include "cli/configuration/traces.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "cli/configuration/checks.h"
#include "cli/configuration/option_binding.h"
#include "cli/configuration/option_table.h"
#include "dedup/base/host_name.h"
#include "dedup/base/text.h"
#include "dedup/sink/http_header_rules.h"
#include "sinks/webhook/rules.h"

namespace onceward {

const std::vector<OptionSpec> trace_options = {
    {"traces.endpoint", "<OTEL_EXPORTER_OTLP_ENDPOINT>",
     into([](To& to) { return &to.configuration.traces.endpoint; }),
     "Where spans are sent, by OTLP over HTTP in JSON: `http://localhost:4318`; `/v1/traces` is "
     "added unless there is a path. `off` switches traces off, whatever the variable says. Without "
     "both there are none.",
     "See docs/operations/traces.md for what a span costs."},
    {"traces.headers", "<OTEL_EXPORTER_OTLP_HEADERS>",
     into([](To& to) { return &to.configuration.traces.headers; }),
     "Headers of each request to it, such as `Authorization: Bearer ${TOKEN}`."},
    {"traces.sampling", "0.01",
     into([](To& to) { return &to.configuration.traces.sampling; }, {0, 1}),
     "How many of the traces that begin here are recorded, as a share: of batches, of requests and "
     "of records that bring no `traceparent`. A message or request with a `traceparent` is "
     "recorded if its sampled flag is set.",
     "Each recorded message has a span of its own, about a kilobyte at the receiver."},
    {"traces.service_name", "<OTEL_SERVICE_NAME, or onceward>",
     into([](To& to) { return &to.configuration.traces.service_name; }),
     "The `service.name` of all spans."},
    {"traces.resource", "<OTEL_RESOURCE_ATTRIBUTES>",
     into([](To& to) { return &to.configuration.traces.resource; }),
     "Further attributes of the process, such as `deployment.environment.name: production`."},
    {"traces.queue", "8192",
     into([](To& to) { return &to.configuration.traces.queue; }, {1, 1'000'000}),
     "Spans that wait to be sent, at most. Further ones are dropped and counted "
     "(`onceward_trace_spans_total`).",
     "About a kilobyte of memory each."},
    {"traces.timeout", "5s",
     into([](To& to) { return &to.configuration.traces.timeout; }, {100, 10 * second}),
     "The time-out of one request to the receiver, and of sending the last spans at the end.",
     "If the receiver does not answer, a shutdown takes this much longer."},
    {"traces.ca_file", "", into([](To& to) { return &to.configuration.traces.ca_file; }),
     "A file of PEM certificates to trust in place of the system's; relative to this "
     "configuration's folder."},
};

namespace {

// `a=1,b=2`, each value percent-encoded, as the variables of OpenTelemetry have it.
std::vector<std::pair<std::string, std::string>> pairs_of(std::string_view text) {
    std::vector<std::pair<std::string, std::string>> pairs;
    while (!text.empty()) {
        const std::size_t comma = std::min(text.find(','), text.size());
        const std::string_view one = text.substr(0, comma);
        text.remove_prefix(std::min(comma + 1, text.size()));
        const std::size_t equals = one.find('=');
        if (equals == std::string_view::npos) continue;
        const std::string_view name = without_blanks(one.substr(0, equals));
        if (name.empty()) continue;
        const std::string_view value = without_blanks(one.substr(equals + 1));
        std::string plain;
        for (std::size_t i = 0; i < value.size(); ++i) {
            const bool coded = value[i] == '%' && i + 2 < value.size() &&
                               hex_value(value[i + 1]) >= 0 && hex_value(value[i + 2]) >= 0;
            plain += coded
                         ? static_cast<char>(hex_value(value[i + 1]) * 16 + hex_value(value[i + 2]))
                         : value[i];
            if (coded) i += 2;
        }
        pairs.emplace_back(name, std::move(plain));
    }
    return pairs;
}

bool has_path(const std::string& url) {
    const std::size_t host = url.find("://");
    if (host == std::string::npos) return false;
    const std::size_t slash = url.find('/', host + 3);
    return slash != std::string::npos && slash + 1 < url.size();
}

std::string with_traces_path(std::string url) {
    while (url.ends_with('/')) url.pop_back();
    return url + "/v1/traces";
}

}  // namespace

std::optional<std::string> process_environment(const std::string& name) {
    const char* const found = std::getenv(name.c_str());
    if (found == nullptr || *found == '\0') return std::nullopt;
    return found;
}

TracesConfiguration with_environment(TracesConfiguration traces, const Environment& environment) {
    const auto first = [&](std::initializer_list<const char*> names) {
        std::optional<std::string> value;
        for (const char* name : names) {
            if (!value) value = environment(name);
        }
        return value;
    };
    if (traces.endpoint == "off" || environment("OTEL_SDK_DISABLED") == "true") {
        traces.endpoint.clear();
        return traces;
    }
    if (!traces.endpoint.empty()) {
        if (!has_path(traces.endpoint)) traces.endpoint = with_traces_path(traces.endpoint);
    } else {
        const auto whole = environment("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
        const auto base = environment("OTEL_EXPORTER_OTLP_ENDPOINT");
        if (whole || base) traces.endpoint = whole ? *whole : with_traces_path(*base);
        const auto protocol =
            first({"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"});
        if (!traces.endpoint.empty() && protocol == "grpc") {
            traces.endpoint.clear();
            traces.problem = "OTEL_EXPORTER_OTLP_PROTOCOL is grpc, and spans are sent by HTTP";
        } else if (!traces.endpoint.empty() && !call_address(traces.endpoint)) {
            traces.endpoint.clear();
            traces.problem = "OTEL_EXPORTER_OTLP_ENDPOINT is no http or https address";
        }
    }
    if (traces.headers.empty()) {
        const auto text =
            first({"OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"});
        for (auto& [name, value] : pairs_of(text.value_or(""))) {
            if (!valid_header_name(name) || !valid_header_value(value)) continue;
            traces.headers.emplace_back(name, std::move(value));
        }
    }
    // Each attribute by itself: one in the file takes precedence.
    for (auto& [name, value] : pairs_of(environment("OTEL_RESOURCE_ATTRIBUTES").value_or(""))) {
        const auto same = [&](const auto& one) { return one.first == name; };
        if (std::ranges::none_of(traces.resource, same)) {
            traces.resource.emplace_back(name, std::move(value));
        }
    }
    if (traces.service_name.empty()) {
        traces.service_name = environment("OTEL_SERVICE_NAME").value_or("");
    }
    return traces;
}

std::vector<std::pair<std::string, std::string>> resource_of(const TracesConfiguration& traces,
                                                             const std::string& group) {
    std::vector<std::pair<std::string, std::string>> resource = traces.resource;
    const auto put = [&](const char* name, const std::string& value, bool replaces) {
        const auto found = std::ranges::find(
            resource, name, [](const auto& one) { return std::string_view(one.first); });
        if (found == resource.end()) {
            resource.emplace_back(name, value);
        } else if (replaces) {
            found->second = value;
        }
    };
    if (!traces.service_name.empty()) put("service.name", traces.service_name, true);
    put("service.name", "onceward", false);
    put("service.instance.id", host_name() + "/" + std::to_string(getpid()), false);
    put("onceward.group", group, false);
    return resource;
}

void check_traces(const TracesConfiguration& traces, const Section& at) {
    const bool given = at.given("endpoint") && at.known("endpoint") && traces.endpoint != "off";
    const auto address = given ? call_address(traces.endpoint) : std::nullopt;
    if (given && !address) {
        at.error("endpoint",
                 "This is not an address to send to (not shown, because it may hold a token). "
                 "Write `http://localhost:4318` or `https://example.com/v1/traces`, or `off`.");
    }
    for (const auto& [name, value] : traces.headers) {
        const std::string option = "headers." + name;
        const bool valid = valid_header_name(name);
        at.check({
            {!valid, option, "`" + name + "` is not a header's name."},
            {valid && is_of_the_call(name), option,
             "`" + name + "` belongs to the request itself. Remove it."},
            {!valid_header_value(value.reveal()), option, "This cannot be in a header."},
        });
    }
    if (address && !address->tls && !traces.headers.empty() && address->host != "localhost" &&
        address->host != "127.0.0.1" && address->host != "::1") {
        at.warning("endpoint",
                   "The headers, which may hold a token, go over the network in clear. Write "
                   "`https://`.");
    }
}

}  // namespace onceward
