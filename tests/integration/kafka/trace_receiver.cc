#include "tests/integration/kafka/trace_receiver.h"

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "dedup/base/text.h"
#include "tests/integration/kafka/scene.h"
#include "tests/support/eventually.h"

namespace onceward::kafka_tests {
namespace {

std::string value_of(const nlohmann::json& value) {
    for (const char* form : {"stringValue", "intValue"}) {
        if (value.contains(form)) {
            const auto& found = value[form];
            return found.is_string() ? found.get<std::string>() : found.dump();
        }
    }
    return value.contains("boolValue") && value["boolValue"].get<bool>() ? "true" : "false";
}

template <class Id>
std::string hex_of(const Id& id) {
    return hex({reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size()});
}

}  // namespace

std::string id_of(const SpanId& id) { return hex_of(id); }
std::string id_of(const TraceId& id) { return hex_of(id); }

TraceReceiver::TraceReceiver() {
    server_.Post("/v1/traces",
                 [this](const httplib::Request& request, httplib::Response& response) {
                     {
                         const std::lock_guard lock(mutex_);
                         authorization_ = request.get_header_value("Authorization");
                     }
                     // Last: a test that sees the spans expects all that came with them.
                     read(nlohmann::json::parse(request.body));
                     response.set_content("{\"partialSuccess\":{}}", "application/json");
                 });
    const char* const given = std::getenv("ONCEWARD_TEST_RECEIVER_PORT");
    port_ = given != nullptr ? std::atoi(given) : server_.bind_to_any_port("127.0.0.1");
    if (given != nullptr && !server_.bind_to_port("127.0.0.1", port_)) port_ = -1;
    thread_ = std::thread([this] { server_.listen_after_bind(); });
    support::eventually(patience, [this] { return server_.is_running(); });
}

TraceReceiver::~TraceReceiver() {
    server_.stop();
    thread_.join();
}

std::string TraceReceiver::endpoint() const {
    const char* const collector = std::getenv("ONCEWARD_TEST_COLLECTOR");
    if (collector != nullptr) return collector;
    return "http://127.0.0.1:" + std::to_string(port_);
}

std::vector<ReceivedSpan> TraceReceiver::of_trace(const std::string& trace) {
    const std::lock_guard lock(mutex_);
    std::vector<ReceivedSpan> found;
    for (const ReceivedSpan& span : spans_) {
        if (span.trace == trace) found.push_back(span);
    }
    return found;
}

std::vector<ReceivedSpan> TraceReceiver::all() {
    const std::lock_guard lock(mutex_);
    return spans_;
}

std::string TraceReceiver::authorization() {
    const std::lock_guard lock(mutex_);
    return authorization_;
}

void TraceReceiver::read(const nlohmann::json& body) {
    const std::lock_guard lock(mutex_);
    for (const auto& of : body.at("resourceSpans")) {
        std::string service;
        for (const auto& attribute : of.at("resource").at("attributes")) {
            if (attribute["key"] == "service.name") service = value_of(attribute["value"]);
        }
        for (const auto& scope : of.at("scopeSpans")) {
            for (const auto& span : scope.at("spans")) add(span, service);
        }
    }
}

void TraceReceiver::add(const nlohmann::json& span, const std::string& service) {
    ReceivedSpan made{span.at("traceId"), span.at("spanId"), span.value("parentSpanId", ""),
                      span.at("name"), span.at("kind").get<int>()};
    made.failed = span.contains("status") && span["status"].value("code", 0) == 2;
    for (const auto& attribute : span.value("attributes", nlohmann::json::array())) {
        made.attributes[attribute["key"]] = value_of(attribute["value"]);
    }
    for (const auto& link : span.value("links", nlohmann::json::array())) {
        made.links.push_back(link["traceId"].get<std::string>() + "/" +
                             link["spanId"].get<std::string>());
    }
    made.service = service;
    spans_.push_back(std::move(made));
}

}  // namespace onceward::kafka_tests
