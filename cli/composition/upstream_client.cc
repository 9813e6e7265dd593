#include <algorithm>

#include "cli/composition/keyed_routes.h"
#include "dedup/sink/http_header_rules.h"
#include "sinks/webhook/http_client.h"
#include "sinks/webhook/rules.h"

namespace onceward {
namespace {

HttpClientOptions call_options(const UpstreamTarget& upstream, std::size_t answer_bytes) {
    HttpClientOptions options;
    options.concurrency = 1;
    options.timeout = upstream.timeout;
    options.connect_timeout = std::min(options.connect_timeout, upstream.timeout);
    options.ca_file = upstream.ca_file;
    options.answer_bytes = static_cast<std::int64_t>(answer_bytes);
    // DANGER: a request on a reused keep-alive connection can race with the server closing it. It
    // was sent, but we cannot know whether it was read, so its key would end in doubt. Open a new
    // connection for each call.
    options.fresh_connections = true;
    options.allowed = networks_of(upstream.allow_private);
    return options;
}

HttpCall http_call(const UpstreamTarget& upstream, UpstreamCall call) {
    HttpCall request;
    request.url = Secret(upstream.url.reveal() + call.target);
    request.method = std::move(call.method);
    request.body = std::move(call.body);
    for (auto& header : call.headers) {
        const bool replaced = std::ranges::any_of(upstream.headers, [&](const auto& own) {
            return same_variable(own.first, header.first);
        });
        if (replaced || !valid_header_name(header.first)) continue;
        request.headers.emplace_back(std::move(header.first), std::move(header.second));
    }
    request.headers.insert(request.headers.end(), upstream.headers.begin(), upstream.headers.end());
    request.headers.emplace_back("Idempotency-Key", key_header_value(call.key));
    return request;
}

}  // namespace

UpstreamClient make_upstream_client(const UpstreamTarget& upstream, std::size_t answer_bytes) {
    const auto client = std::make_shared<HttpClient>(call_options(upstream, answer_bytes));
    return [upstream, client](UpstreamCall call, std::chrono::milliseconds every,
                              const std::function<void()>& meanwhile) -> UpstreamAnswer {
        try {
            client->begin(1, http_call(upstream, std::move(call)));
        } catch (const std::exception& error) {
            // DANGER: return a failure only for what precedes the call. A failure after it would
            // free the key of a call that may have been sent.
            return {.failure = error.what()};
        }
        while (true) {
            std::vector<HttpAnswer> answers = client->wait(every);
            if (!answers.empty()) return std::move(answers.front());
            meanwhile();
        }
    };
}

}  // namespace onceward
