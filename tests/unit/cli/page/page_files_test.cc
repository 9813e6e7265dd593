#include "cli/page/page_files.h"

#include <gtest/gtest.h>

#include <array>

namespace onceward {
namespace {

constexpr std::array<PageFile, 2> files{
    {{"/", "text/html; charset=utf-8", "\"one\"", "<p>plain</p>", "zipped"},
     {"/assets/app.js", "text/javascript; charset=utf-8", "\"two\"", "let a;", "z"}}};

HttpResponse get(const std::string& target, HttpHeaders headers = {}) {
    return file_response(
               {.method = "GET", .target = target, .headers = std::move(headers), .body = ""},
               files)
        .value_or(HttpResponse{.status = 404});
}

std::string_view header(const HttpResponse& response, std::string_view name) {
    return only_value(response.headers, name).value_or("");
}

TEST(PageFiles, AFileIsSentPackedToThoseWhoReadThat) {
    const HttpResponse packed = get("/?x=1", {{"accept-encoding", "deflate, gzip;q=1.0, br"}});
    EXPECT_EQ(packed.body, "zipped");
    EXPECT_EQ(header(packed, "Content-Encoding"), "gzip");
    const HttpResponse plain = get("/assets/app.js", {{"Accept-Encoding", "br"}});
    EXPECT_EQ(plain.body, "let a;");
    EXPECT_EQ(header(plain, "Content-Encoding"), "");
    EXPECT_EQ(header(plain, "Content-Type"), "text/javascript; charset=utf-8");
    EXPECT_EQ(header(plain, "Vary"), "Accept-Encoding");
    EXPECT_EQ(get("/assets/other.js").status, 404);
    EXPECT_EQ(get("/assets/").status, 404);
}

TEST(PageFiles, WhoHasItAlreadyGetsItNotAgain) {
    const HttpResponse again = get("/", {{"If-None-Match", "\"zero\", \"one\""}});
    EXPECT_EQ(again.status, 304);
    EXPECT_EQ(again.body, "");
    EXPECT_EQ(header(again, "ETag"), "\"one\"");
    EXPECT_EQ(get("/", {{"If-None-Match", "\"two\""}}).status, 200);
}

TEST(PageFiles, APageMayAskItsOwnPlaceOnly) {
    const HttpResponse response = get("/");
    const std::string_view policy = header(response, "Content-Security-Policy");
    EXPECT_TRUE(policy.starts_with("default-src 'none'; script-src 'self';")) << policy;
    EXPECT_NE(policy.find("frame-ancestors 'none'"), std::string_view::npos);
    EXPECT_EQ(policy.find("unsafe"), std::string_view::npos);
    EXPECT_EQ(header(response, "X-Content-Type-Options"), "nosniff");
}

TEST(PageFiles, TheBuildHasAllThatThePageNames) {
    // A build without npm has none.
    for (const PageFile& file : page_files()) {
        EXPECT_FALSE(file.plain.empty()) << file.address;
        EXPECT_TRUE(file.gzip.starts_with("\x1f\x8b")) << file.address;
        // A module is found only by its address.
        EXPECT_EQ(file.plain.find("from\"preact\""), std::string_view::npos) << file.address;
        std::string_view rest = file.plain;
        while (file.address != "/assets/licenses.txt") {
            const std::size_t at = rest.find(file.address == "/" ? "\"assets/" : " from './");
            if (at == std::string_view::npos) break;
            rest.remove_prefix(at + (file.address == "/" ? 8 : 9));
            const std::string name(rest.substr(0, rest.find_first_of("'\"")));
            EXPECT_EQ(file_response(
                          {.method = "GET", .target = "/assets/" + name, .headers = {}, .body = ""})
                          ->status,
                      200);
        }
    }
}

}  // namespace
}  // namespace onceward
