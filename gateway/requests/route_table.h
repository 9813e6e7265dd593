#pragma once
// Which route a request goes to, by method and path. Immutable once made, so thread-safe; pure.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace onceward {

struct RoutePattern {
    std::string method;  // such as `POST`
    std::string path;    // such as `/orders/{id}`
};

// Why this cannot be a pattern; '' if it can.
std::string fault_of(const RoutePattern& pattern);

// The operation within which a route's keys are unique: `POST /orders/{id}`. It is the pattern, not
// the path, so that a key sent to two orders is one key, and leads to a conflict.
std::string operation_of(const RoutePattern& pattern);

// Whether some request fits both, and neither is the more exact one.
bool ambiguous(const RoutePattern& one, const RoutePattern& two);

class RouteTable {
  public:
    RouteTable() = default;
    // REQUIRES: no pattern has a fault, no two are ambiguous.
    explicit RouteTable(const std::vector<RoutePattern>& patterns);

    struct Match {
        enum class Kind : std::uint8_t { found, no_such_path, other_method };
        Kind kind = Kind::no_such_path;
        std::size_t route = 0;  // found: the pattern's place
        // found: name and percent-decoded text of each `{name}`
        std::vector<std::pair<std::string, std::string>> parameters{};
        std::string allow{};  // other_method: the methods of that path, as `Allow` has them
    };
    // If several paths fit, one with a word wins over one with a `{name}` at the first place where
    // they differ. The method is compared after that.
    Match match(std::string_view method, std::string_view path) const;

  private:
    struct Route {
        std::string method;
        std::vector<std::string> segments;
    };
    std::vector<Route> routes_;
};

}  // namespace onceward
