#include "gateway/requests/route_table.h"

#include <algorithm>
#include <optional>
#include <set>

#include "gateway/http/http.h"

namespace onceward {
namespace {

std::vector<std::string> segments_of(std::string_view path) {
    std::vector<std::string> segments;
    path.remove_prefix(1);
    while (true) {
        const auto slash = path.find('/');
        segments.emplace_back(path.substr(0, slash));
        if (slash == std::string_view::npos) return segments;
        path.remove_prefix(slash + 1);
    }
}

bool is_parameter(std::string_view segment) { return segment.starts_with('{'); }

// Segments are decoded before they are compared: `/%6Frders` is `/orders`, and must not evade a
// limit that is set on it.
std::optional<std::vector<std::string>> decoded_segments(std::string_view path) {
    if (!path.starts_with('/')) return std::nullopt;
    std::vector<std::string> segments = segments_of(path);
    for (std::string& segment : segments) {
        std::optional<std::string> text = percent_decoded(segment);
        if (!text) return std::nullopt;
        segment = std::move(*text);
    }
    return segments;
}

bool fits(const std::vector<std::string>& pattern, const std::vector<std::string>& path) {
    return std::ranges::equal(pattern, path, [](const std::string& wanted, const std::string& is) {
        return is_parameter(wanted) ? !is.empty() : wanted == is;
    });
}

// Words come before parameters.
bool more_exact(const std::vector<std::string>& one, const std::vector<std::string>& two) {
    return std::ranges::lexicographical_compare(one, two, {}, is_parameter, is_parameter);
}

bool is_token(std::string_view text) {
    return !text.empty() && text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ-_") == text.npos;
}

bool is_name(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_';
    });
}

}  // namespace

std::string fault_of(const RoutePattern& pattern) {
    if (!is_token(pattern.method)) return "the method is written in capitals, such as `POST`";
    if (!pattern.path.starts_with('/')) return "a path begins with `/`, such as `/orders/{id}`";
    if (pattern.path.find_first_of("?#% ") != std::string::npos) {
        return "a path is written without query, blanks and percent signs";
    }
    std::set<std::string> names;
    for (const std::string& segment : segments_of(pattern.path)) {
        const bool braces = segment.find_first_of("{}") != std::string::npos;
        if (!braces) continue;
        const bool whole = segment.size() > 2 && is_parameter(segment) && segment.ends_with('}');
        if (!whole || !is_name(std::string_view(segment).substr(1, segment.size() - 2))) {
            return "`{name}` stands for a whole part between slashes, its name has letters, digits "
                   "and `_`";
        }
        if (!names.insert(segment).second) return "`" + segment + "` is there twice";
    }
    return {};
}

std::string operation_of(const RoutePattern& pattern) {
    return pattern.method + " " + pattern.path;
}

bool ambiguous(const RoutePattern& one, const RoutePattern& two) {
    if (one.method != two.method) return false;
    const std::vector<std::string> first = segments_of(one.path), second = segments_of(two.path);
    return std::ranges::equal(first, second, [](const std::string& left, const std::string& right) {
        return is_parameter(left) ? is_parameter(right) : left == right;
    });
}

RouteTable::RouteTable(const std::vector<RoutePattern>& patterns) {
    for (const auto& [method, path] : patterns) routes_.push_back({method, segments_of(path)});
}

RouteTable::Match RouteTable::match(std::string_view method, std::string_view path) const {
    const auto segments = decoded_segments(path);
    if (!segments) return {};
    const Route* best = nullptr;
    for (const Route& route : routes_) {
        if (!fits(route.segments, *segments)) continue;
        if (best == nullptr || more_exact(route.segments, best->segments)) best = &route;
    }
    if (best == nullptr) return {};
    // A path with other names for its parameters is the same path.
    std::set<std::string> methods;
    for (const Route& route : routes_) {
        const bool same = !more_exact(route.segments, best->segments) &&
                          !more_exact(best->segments, route.segments);
        if (!same || !fits(route.segments, *segments)) continue;
        methods.insert(route.method);
        if (route.method != method) continue;
        Match match{.kind = Match::Kind::found,
                    .route = static_cast<std::size_t>(&route - routes_.data())};
        for (std::size_t i = 0; i < segments->size(); ++i) {
            const std::string& wanted = route.segments[i];
            if (!is_parameter(wanted)) continue;
            match.parameters.emplace_back(wanted.substr(1, wanted.size() - 2), (*segments)[i]);
        }
        return match;
    }
    Match match{.kind = Match::Kind::other_method};
    for (const std::string& known : methods) {
        match.allow += (match.allow.empty() ? "" : ", ") + known;
    }
    return match;
}

}  // namespace onceward
