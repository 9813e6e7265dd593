#include "cli/admin/access.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/configuration/units.h"

namespace onceward {
namespace {

// In constant time, so that the time of the answer does not tell what differs.
bool same(const Digest& one, const Digest& other) {
    unsigned difference = 0;
    for (std::size_t i = 0; i < one.bytes.size(); ++i) {
        difference |= static_cast<unsigned>(one.bytes[i] ^ other.bytes[i]);
    }
    return difference == 0;
}

AdminRefusal unknown(const std::string& detail) {
    return {.status = 401, .title = "Who is asking?", .detail = detail};
}

AdminRefusal forbidden(const std::string& detail) {
    return {.status = 403, .title = "Not allowed", .detail = detail};
}

// Refuses a request that may come from a page of another site: browsers add a certificate to such
// requests, and let such a page send forms. nullopt if it is admitted.
// Browsers never add a token. A page of another site would have to know it, and would have to ask
// before it sends `Authorization`, which this port never allows. So with a token `Origin` need not
// be this port's own: a proxy that ends TLS may write another name in `Host`.
std::optional<AdminRefusal> refuse_other_sites(const HttpRequest& request, bool by_token) {
    if (values_of(request.headers, act_header).size() != 1) {
        return forbidden(std::string("A request that acts needs the header `") + act_header +
                         "`, such as `" + act_header + ": 1`.");
    }
    const auto site = only_value(request.headers, "Sec-Fetch-Site");
    if (site && *site != "same-origin") return forbidden("This request comes from another site.");
    if (by_token) return std::nullopt;
    for (const std::string_view origin : values_of(request.headers, "Origin")) {
        const std::size_t scheme = origin.find("://");
        const auto host = only_value(request.headers, "Host");
        if (!host || scheme == std::string_view::npos || origin.substr(scheme + 3) != *host) {
            return forbidden("This request comes from another site.");
        }
    }
    return std::nullopt;
}

}  // namespace

bool open_to_this_machine(const AdminConfiguration& configuration, bool on_loopback) {
    return on_loopback && !configuration.look.any() && !configuration.operate.any();
}

bool names_this_machine(const HttpHeaders& headers) {
    const auto host = only_value(headers, "Host");
    if (!host) return false;
    std::string name(*host);
    const std::size_t colon = name.rfind(':');
    const bool has_port = colon != std::string::npos && name.find(']', colon) == std::string::npos;
    if (has_port) name.resize(colon);
    if (name == "[::1]") name = "::1";
    return is_loopback({.host = name});
}

std::string_view to_text(AdminRole role) {
    return role == AdminRole::operate ? "operate" : "look";
}

HttpResponse to_response(const AdminRefusal& refusal) {
    HttpResponse response{.status = refusal.status,
                          .headers = {{"Content-Type", "application/problem+json"},
                                      {"Cache-Control", "no-store"}}};
    if (refusal.status == 401) {
        response.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"onceward\"");
    }
    response.body = nlohmann::json{{"status", refusal.status},
                                   {"title", refusal.title},
                                   {"detail", refusal.detail}}
                        .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    return response;
}

AdminAccess::AdminAccess(const AdminConfiguration& configuration, bool on_loopback)
    : open_(open_to_this_machine(configuration, on_loopback)),
      metrics_need_look_(configuration.metrics_need_look) {
    const auto add = [&](const AdminConfiguration::Credentials& credentials, AdminRole role) {
        for (const auto& [name, token] : credentials.tokens) {
            tokens_.push_back({name, digest_of_bytes(token.reveal()), role});
        }
        for (const std::string& subject : credentials.subjects) {
            subjects_.emplace_back(subject, role);
        }
    };
    // The first of two that fit counts.
    add(configuration.operate, AdminRole::operate);
    add(configuration.look, AdminRole::look);
}

std::variant<AdminCaller, AdminRefusal> AdminAccess::caller_of(const HttpRequest& request) const {
    constexpr std::string_view scheme = "bearer ";
    if (const auto given = only_value(request.headers, "Authorization")) {
        std::string begin(given->substr(0, scheme.size()));
        std::ranges::transform(begin, begin.begin(), [](unsigned char c) {
            return static_cast<char>(std::tolower(c));
        });
        if (begin != scheme) return unknown("`Authorization` has to be `Bearer TOKEN`.");
        const Digest digest = digest_of_bytes(std::string(given->substr(scheme.size())));
        const Token* found = nullptr;
        for (const Token& token : tokens_) {
            if (same(token.digest, digest) && found == nullptr) found = &token;
        }
        if (found == nullptr) return unknown("This token is not known here.");
        return AdminCaller{found->name, found->role};
    }
    if (!request.certificate.empty()) {
        const auto found = std::ranges::find(subjects_, request.certificate,
                                             &std::pair<std::string, AdminRole>::first);
        if (found != subjects_.end()) return AdminCaller{found->first, found->second};
        return unknown("The certificate of " + request.certificate + " is not known here.");
    }
    return unknown("This needs a token, `Authorization: Bearer TOKEN`, or a client certificate.");
}

std::variant<AdminCaller, AdminRefusal> AdminAccess::admit(const HttpRequest& request,
                                                           AdminRole wanted) const {
    std::variant<AdminCaller, AdminRefusal> caller = caller_of(request);
    if (std::holds_alternative<AdminRefusal>(caller)) {
        const bool open = wanted == AdminRole::look && open_ &&
                          values_of(request.headers, "Authorization").empty();
        if (!open) return caller;
        if (names_this_machine(request.headers)) return AdminCaller{};
        return forbidden(
            "Without credentials this is for this machine alone: ask for it as `localhost` or "
            "`127.0.0.1`.");
    }
    if (wanted == AdminRole::look) return caller;
    if (std::get<AdminCaller>(caller).role != AdminRole::operate) {
        return forbidden("This needs the role `operate`; these credentials have `look`.");
    }
    // caller_of() takes no certificate if there is one token.
    const bool by_token = only_value(request.headers, "Authorization").has_value();
    if (auto refused = refuse_other_sites(request, by_token)) return *std::move(refused);
    return caller;
}

}  // namespace onceward
