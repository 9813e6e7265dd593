#include "gateway/http/problem_page.h"

#include "gateway/http/problem.h"
#include "gateway/problem_texts.h"

namespace onceward {
namespace {

// From its heading to the next one; '' where there is no such section.
std::string_view section_of(std::string_view name) {
    const std::string_view whole = problem_texts::problems;
    const std::size_t begin = whole.find("\n## " + std::string(name) + "\n");
    if (begin == std::string_view::npos) return {};
    const std::string_view rest = whole.substr(begin + 1);
    const std::size_t end = rest.find("\n## ");
    return end == std::string_view::npos ? rest : rest.substr(0, end + 1);
}

}  // namespace

std::optional<HttpResponse> problem_page(const HttpRequest& request) {
    if (request.method != "GET" && request.method != "HEAD") return std::nullopt;
    std::string_view path = path_of(request.target);
    if (!path.starts_with(problem_path)) return std::nullopt;
    path.remove_prefix(problem_path.size());
    const std::string_view text = path.empty() ? problem_texts::problems : section_of(path);
    if (text.empty()) return std::nullopt;
    return HttpResponse{.status = 200,
                        .headers = {{"Content-Type", "text/plain; charset=utf-8"}},
                        .body = std::string(text)};
}

}  // namespace onceward
