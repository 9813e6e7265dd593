#pragma once
// The files of the admin port's page, which are in the program: the build puts them there. Pure;
// thread-safe.

#include <optional>
#include <span>
#include <string_view>

#include "gateway/http/http.h"

namespace onceward {

struct PageFile {
    std::string_view address;  // `/` or `/assets/...`
    std::string_view type;
    std::string_view tag;  // of its content, in quotes, for If-None-Match
    std::string_view plain;
    std::string_view gzip;
};

// Empty if the build had no npm to fetch the page's libraries.
std::span<const PageFile> page_files();

// nullopt if the request asks for none of them. Status 304 for a client that has the file already.
std::optional<HttpResponse> file_response(const HttpRequest& request,
                                          std::span<const PageFile> files = page_files());

// Adds the headers that isolate the page: no script, style, picture or request from elsewhere, and
// no frame around it.
void add_page_headers(HttpResponse& response);

}  // namespace onceward
