#include "cli/page/page_request.h"

#include <algorithm>

#include "gateway/http/http.h"

namespace onceward {

std::optional<PageRequest> page_request(std::string_view target) {
    PageRequest request{.path = std::string(path_of(target))};
    std::string_view query = target.substr(std::min(request.path.size() + 1, target.size()));
    while (!query.empty()) {
        const std::size_t end = std::min(query.find('&'), query.size());
        std::string pair(query.substr(0, end));
        query.remove_prefix(std::min(end + 1, query.size()));
        std::ranges::replace(pair, '+', ' ');
        const std::size_t equals = std::min(pair.find('='), pair.size());
        const auto name = percent_decoded(std::string_view(pair).substr(0, equals));
        const auto value =
            percent_decoded(std::string_view(pair).substr(std::min(equals + 1, pair.size())));
        if (!name || !value) return std::nullopt;
        request.values[*name] = *value;
    }
    return request;
}

}  // namespace onceward
