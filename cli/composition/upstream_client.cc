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

class WebUpstream final : public UpstreamClient {
  public:
    WebUpstream(const UpstreamTarget& upstream, std::size_t answer_bytes)
        : upstream_(upstream), client_(call_options(upstream, answer_bytes)) {}

    void begin(UpstreamCall call) override {
        HttpCall request;
        request.url = Secret(upstream_.url.reveal() + call.target);
        request.method = std::move(call.method);
        request.body = std::move(call.body);
        for (auto& header : call.headers) {
            const bool replaced = std::ranges::any_of(upstream_.headers, [&](const auto& own) {
                return same_variable(own.first, header.first);
            });
            if (replaced || !valid_header_name(header.first)) continue;
            request.headers.emplace_back(std::move(header.first), std::move(header.second));
        }
        request.headers.insert(request.headers.end(), upstream_.headers.begin(),
                               upstream_.headers.end());
        request.headers.emplace_back("Idempotency-Key", key_header_value(call.key));
        client_.begin(1, std::move(request));
    }

    std::optional<UpstreamAnswer> wait(std::chrono::milliseconds most) override {
        std::vector<HttpAnswer> answers = client_.wait(most);
        if (answers.empty()) return std::nullopt;
        return std::move(answers.front());
    }

  private:
    const UpstreamTarget upstream_;
    HttpClient client_;
};

}  // namespace

std::unique_ptr<UpstreamClient> make_upstream_client(const UpstreamTarget& upstream,
                                                     std::size_t answer_bytes) {
    return std::make_unique<WebUpstream>(upstream, answer_bytes);
}

}  // namespace onceward
