#include "cli/page/page_files.h"

#include <algorithm>
#include <string>

namespace onceward {
namespace {

// No `unsafe-inline`: uPlot and preact set styles through the DOM, which the policy allows.
constexpr const char* policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src "
    "'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

// Whether a list of names separated by commas has this one; `;q=0` is not looked for, since no
// browser sends it.
bool lists(std::string_view list, std::string_view name) {
    while (!list.empty()) {
        const std::size_t end = std::min(list.find(','), list.size());
        std::string_view entry = list.substr(0, std::min(list.substr(0, end).find(';'), end));
        while (entry.starts_with(' ')) entry.remove_prefix(1);
        while (entry.ends_with(' ')) entry.remove_suffix(1);
        if (entry == name) return true;
        list.remove_prefix(std::min(end + 1, list.size()));
    }
    return false;
}

bool any_lists(const HttpHeaders& headers, std::string_view header, std::string_view name) {
    return std::ranges::any_of(values_of(headers, header),
                               [&](std::string_view value) { return lists(value, name); });
}

}  // namespace

std::optional<HttpResponse> file_response(const HttpRequest& request,
                                          std::span<const PageFile> files) {
    const auto file = std::ranges::find(files, path_of(request.target), &PageFile::address);
    if (file == files.end()) return std::nullopt;
    HttpResponse response;
    response.headers = {{"Content-Type", std::string(file->type)},
                        {"ETag", std::string(file->tag)},
                        // The browser asks each time, so that after an upgrade it shows the new
                        // program's page.
                        {"Cache-Control", "no-cache"},
                        {"Vary", "Accept-Encoding"}};
    add_page_headers(response);
    if (any_lists(request.headers, "If-None-Match", file->tag)) {
        response.status = 304;
        return response;
    }
    if (any_lists(request.headers, "Accept-Encoding", "gzip")) {
        response.headers.emplace_back("Content-Encoding", "gzip");
        response.body = file->gzip;
    } else {
        response.body = file->plain;
    }
    return response;
}

void add_page_headers(HttpResponse& response) {
    response.headers.emplace_back("Content-Security-Policy", policy);
    response.headers.emplace_back("X-Content-Type-Options", "nosniff");
    response.headers.emplace_back("X-Frame-Options", "DENY");
    response.headers.emplace_back("Referrer-Policy", "no-referrer");
    response.headers.emplace_back("Cross-Origin-Resource-Policy", "same-origin");
}

}  // namespace onceward
