#include "cli/configuration/traces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "cli/configuration/load.h"

namespace onceward {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

Environment of(std::map<std::string, std::string> variables) {
    return [variables](const std::string& name) -> std::optional<std::string> {
        const auto found = variables.find(name);
        return found == variables.end() ? std::nullopt : std::optional(found->second);
    };
}

TEST(TracesByTheEnvironment, WithoutAnEndpointTheyAreOff) {
    EXPECT_EQ(with_environment({}, of({})).endpoint, "");
    EXPECT_EQ(with_environment({}, of({{"OTEL_SERVICE_NAME", "a"}})).endpoint, "");
}

TEST(TracesByTheEnvironment, TheFileCountsAndTheVariablesFillIn) {
    const Environment all = of({{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector.example:4318/"},
                                {"OTEL_EXPORTER_OTLP_HEADERS", "api-key=a%20b, x=1,bad"},
                                {"OTEL_SERVICE_NAME", "payments"},
                                {"OTEL_RESOURCE_ATTRIBUTES", "a=1,service.name=other,b=2"}});
    const TracesConfiguration by_variables = with_environment({}, all);
    EXPECT_EQ(by_variables.endpoint, "http://collector.example:4318/v1/traces");
    EXPECT_THAT(by_variables.headers,
                ElementsAre(Pair("api-key", Secret("a b")), Pair("x", Secret("1"))));
    EXPECT_THAT(resource_of(by_variables, "group"), Contains(Pair("service.name", "payments")));
    EXPECT_THAT(resource_of(by_variables, "group"), Contains(Pair("b", "2")));
    TracesConfiguration file;
    file.endpoint = "https://other.example:4318";
    file.headers = {{"api-key", "mine"}};
    file.service_name = "mine";
    file.resource = {{"a", "3"}};
    const TracesConfiguration both = with_environment(file, all);
    EXPECT_EQ(both.endpoint, "https://other.example:4318/v1/traces");
    EXPECT_THAT(both.headers, ElementsAre(Pair("api-key", Secret("mine"))));
    EXPECT_THAT(resource_of(both, "group"), Contains(Pair("service.name", "mine")));
    EXPECT_THAT(resource_of(both, "group"), Contains(Pair("a", "3")));
    EXPECT_THAT(resource_of(both, "group"), Contains(Pair("b", "2")));
    EXPECT_THAT(resource_of({}, "group"), Contains(Pair("service.name", "onceward")));
    EXPECT_THAT(resource_of({}, "group"), Contains(Pair("onceward.group", "group")));
}

TEST(TracesByTheEnvironment, AnAddressWithAPathIsUsedAsItIs) {
    TracesConfiguration file;
    file.endpoint = "https://host.example/otlp/v1/traces";
    EXPECT_EQ(with_environment(file, of({})).endpoint, file.endpoint);
    EXPECT_EQ(with_environment({}, of({{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://h.example/x"},
                                       {"OTEL_EXPORTER_OTLP_ENDPOINT", "http://other.example"}}))
                  .endpoint,
              "http://h.example/x");
}

TEST(TracesByTheEnvironment, OffAndADisabledSdkSwitchThemOff) {
    TracesConfiguration off;
    off.endpoint = "off";
    EXPECT_EQ(with_environment(off, of({{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://h.example"}}))
                  .endpoint,
              "");
    TracesConfiguration on;
    on.endpoint = "http://h.example";
    EXPECT_EQ(with_environment(on, of({{"OTEL_SDK_DISABLED", "true"}})).endpoint, "");
}

TEST(TracesByTheEnvironment, WhatCannotBeUsedIsSaidAndStopsNothing) {
    const TracesConfiguration grpc =
        with_environment({}, of({{"OTEL_EXPORTER_OTLP_ENDPOINT", "http://h.example:4317"},
                                 {"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"}}));
    EXPECT_EQ(grpc.endpoint, "");
    EXPECT_THAT(grpc.problem, HasSubstr("grpc"));
    const TracesConfiguration none =
        with_environment({}, of({{"OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318"}}));
    EXPECT_EQ(none.endpoint, "");
    EXPECT_THAT(none.problem, HasSubstr("OTEL_EXPORTER_OTLP_ENDPOINT"));
}

LoadResult load_traces(const std::string& traces) {
    return load_configuration_text(
        "group: g\nkafka: {bootstrap_servers: 'b:1'}\npostgres: {dsn: 'host=h'}\n"
        "topics:\n  - name: t\n    key: {preset: idempotency-key}\n"
        "    sink: {table: t, columns: {a: /a}}\ntraces: " +
            traces + "\n",
        "/etc/onceward/onceward.yaml");
}

TEST(TraceOptions, AreRead) {
    const LoadResult result = load_traces(
        "{endpoint: 'https://h.example:4318',"
        " headers: {api-key: x}, sampling: 0.5, service_name: s,"
        " resource: {deployment.environment.name: test}, queue: 10, timeout: 1s, ca_file: ca.pem}");
    ASSERT_TRUE(result.usable());
    const TracesConfiguration& traces = result.configuration.traces;
    EXPECT_EQ(traces.endpoint, "https://h.example:4318");
    EXPECT_THAT(traces.headers, ElementsAre(Pair("api-key", Secret("x"))));
    EXPECT_EQ(traces.sampling, 0.5);
    EXPECT_EQ(traces.service_name, "s");
    EXPECT_THAT(traces.resource, ElementsAre(Pair("deployment.environment.name", "test")));
    EXPECT_EQ(traces.queue, 10U);
    EXPECT_EQ(traces.timeout, std::chrono::seconds(1));
    EXPECT_EQ(traces.ca_file, "/etc/onceward/ca.pem");
}

TEST(TraceOptions, WhatCannotBeMeantIsRefused) {
    for (const auto& [text, says] : std::vector<std::pair<std::string, std::string>>{
             {"{endpoint: collector}", "not an address to send to"},
             {"{endpoint: 'ftp://h'}", "not an address to send to"},
             {"{sampling: 2}", "out of range"},
             {"{headers: {Host: x}}", "belongs to the request itself"},
             {"{headers: text}", "not a mapping from names"},
             {"{resource: [a]}", "not a mapping"},
             {"{endpoints: x}", "endpoint"}}) {
        const LoadResult result = load_traces(text);
        ASSERT_FALSE(result.usable()) << text;
        EXPECT_THAT(result.findings.at(0).message, HasSubstr(says)) << text;
    }
    EXPECT_TRUE(load_traces("{endpoint: 'off'}").usable());
    const LoadResult in_clear = load_traces("{endpoint: 'http://h.example:4318', headers: {a: b}}");
    EXPECT_TRUE(in_clear.usable());
    ASSERT_EQ(in_clear.findings.size(), 1U);
    EXPECT_THAT(in_clear.findings[0].message, HasSubstr("in clear"));
}

}  // namespace
}  // namespace onceward
