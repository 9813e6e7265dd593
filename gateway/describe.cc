#include "gateway/describe.h"

namespace onceward {
namespace {

class Page {
  public:
    void heading(const std::string& text) { text_ += text + "\n"; }
    void line(const std::string& name, const std::string& text) {
        text_ +=
            "  " + name + std::string(name.size() < 14 ? 14 - name.size() : 1, ' ') + text + "\n";
    }
    void gap() { text_ += "\n"; }
    std::string text() const { return text_; }

  private:
    std::string text_;
};

std::string format_words(const KeyHeaderOptions& key) {
    std::string text;
    switch (key.format) {
        case KeyFormat::either: text = "plain text, or a string in double quotes (RFC 8941)"; break;
        case KeyFormat::structured: text = "a string in double quotes (RFC 8941)"; break;
        case KeyFormat::plain: text = "plain text"; break;
    }
    if (key.uuid) return text + ", a UUID";
    return text + ", " + std::to_string(key.length_min) + " to " + std::to_string(key.length_max) +
           " bytes";
}

std::string key_words(const RouteOptions& route) {
    if (!route.key_field.empty()) {
        return "minted by the sender of the event: " + route.key_field + " of the body";
    }
    if (route.key.use == KeyUse::forbidden) return "none; a " + route.key.header + " is refused";
    return std::string(
               "minted by the client, once for each operation and kept over its retries: ") +
           route.key.header + " (" +
           (route.key.use == KeyUse::required ? "required"
                                              : "optional: without it nothing is known "
                                                "of a repeat") +
           "), " + format_words(route.key);
}

std::string scope_words(const RouteOptions& route) {
    const std::string operation = "operation `" + operation_of(route.pattern) + "`";
    switch (route.tenant.kind) {
        case TenantSource::Kind::none: return operation;
        case TenantSource::Kind::header:
            return operation + ", tenant from the header " + route.tenant.name;
        case TenantSource::Kind::claim:
            return operation + ", tenant from the token's claim `" + route.tenant.name + "`";
    }
    return operation;
}

std::string wait_words(const RouteOptions& route) {
    if (route.wait.count() == 0) return "409 at once, with Retry-After";
    return "waits for the first one's answer, at most " + std::to_string(route.wait.count()) +
           " ms; then 409 with Retry-After";
}

void add_topic(Page& page, const TopicTarget& target) {
    page.line("claimed", "not here: the event goes to the topic `" + target.topic +
                             "` with its key, and whoever reads the topic knows a repeat");
    page.line("answer",
              "202 once the log has the event; 503 where that is not known: send it again "
              "with the same key");
    page.line("repeat", "202 again, and a second record with the same key");
}

void add_upstream(Page& page, const UpstreamTarget& upstream, std::chrono::seconds lease) {
    page.line("claimed", "before the upstream is called, for " + duration_words(lease) +
                             ", longer while the call runs; the final answer (2xx, 3xx, most 4xx) "
                             "is stored with the key's end");
    page.line("downstream", "Idempotency-Key, derived from the key, the same on each try");
    page.line("refused",
              "5xx, 408, 425, 429 and 502 `upstream-unreachable` free the key: send it "
              "again");
    const bool release = upstream.on_unknown == UpstreamTarget::OnUnknown::release;
    page.line("in doubt", release ? "504: the next request calls again under the same downstream "
                                    "key"
                          : upstream.honours_key
                              ? "504, then 409 until the lease's end; then the next request calls "
                                "again under the same downstream key"
                              : "504, then 409 until the lease's end; then 409 `outcome-unknown` "
                                "until somebody frees the key");
}

void add_sink(Page& page, const RouteContract& contract) {
    const RouteOptions& route = contract.route;
    const auto* sink = std::get_if<SinkTarget>(&route.target);
    if (sink != nullptr && sink->bulk) {
        page.line("body",
                  "an array of items, each with a key of its own; 207 with an answer for "
                  "each, all in one transaction");
    }
    if (const auto* upstream = std::get_if<UpstreamTarget>(&route.target)) {
        add_upstream(page, *upstream, contract.lease);
    } else {
        page.line("claimed",
                  "in the transaction that writes, together with the answer: all three or "
                  "none");
    }
    page.line("repeat",
              "the first one's answer, with `Idempotent-Replayed: true`; its final "
              "failures too");
    page.line("meanwhile", wait_words(route));
    page.line("conflict", route.fingerprint
                              ? "422: the same key with another path, query or body"
                              : "none: whatever comes under the same key is a repeat");
    page.line("remembered", duration_words(contract.retention) + ", ledger `" + contract.ledger +
                                "`: retry within that, by hand too; later the key is new");
}

void add_route(Page& page, const RouteContract& contract) {
    const RouteOptions& route = contract.route;
    page.heading(operation_of(route.pattern));
    if (route.signature) {
        page.line("signed", "yes; verified over the raw body before anything else");
    }
    if (route.token) page.line("token", "a bearer token, verified against the issuer's key set");
    page.line("key", key_words(route));
    if (route.key.use != KeyUse::forbidden) page.line("scope", scope_words(route));
    if (const auto* topic = std::get_if<TopicTarget>(&route.target)) {
        add_topic(page, *topic);
    } else {
        add_sink(page, contract);
    }
    if (!route.status_path.empty()) {
        const bool upstream = std::holds_alternative<UpstreamTarget>(route.target);
        page.line("status", "GET " + route.status_path +
                                " with the same key tells what became of it: in-flight, " +
                                (upstream ? "with the seconds until its lease ends, completed, "
                                            "outcome-unknown, or 404"
                                          : "completed, or 404"));
    }
    page.gap();
}

}  // namespace

std::string duration_words(std::chrono::seconds duration) {
    const auto count = duration.count();
    if (count > 0 && count % 3600 == 0) return std::to_string(count / 3600) + " h";
    if (count > 0 && count % 60 == 0) return std::to_string(count / 60) + " min";
    return std::to_string(count) + " s";
}

std::string contract_text(const Contract& contract) {
    Page page;
    page.heading(contract.title);
    page.gap();
    for (const RouteContract& route : contract.routes) add_route(page, route);
    page.heading("Every route");
    page.line("promise",
              "the operation takes effect at most once; you may receive its answer more "
              "than once");
    page.line("refused",
              "400, 401, 404, 405, 408, 413, 429, 431: before anything was done, and never "
              "remembered");
    page.line("503", "whether it took effect is not known: send it again with the same key");
    page.line("errors", "application/problem+json (RFC 9457) with a `type` that never changes");
    page.line("limits", "body " + std::to_string(contract.server.limits.body_bytes) +
                            " bytes, header fields " +
                            std::to_string(contract.server.limits.header_bytes) +
                            " bytes, a request arrives within " +
                            std::to_string(contract.server.limits.request_time.count()) + " ms");
    return page.text();
}

}  // namespace onceward
