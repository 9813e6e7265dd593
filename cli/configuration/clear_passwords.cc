#include <algorithm>

#include "cli/configuration/yaml_tree.h"
#include "consumer/kafka/kafka_options.h"
#include "dedup/postgres/connection_string.h"

namespace onceward {
namespace {

// Stands for what is not in the file. It is no blank, at which libpq would end a value.
constexpr char kept_elsewhere = '\x01';
const std::string some_text(1, kept_elsewhere);

// A value as far as the file itself holds it: a variable's default is in it, and `elsewhere` for
// what the variable holds.
std::string text_in_file(const std::string& written, const std::string& elsewhere = some_text) {
    std::string text;
    for (std::size_t at = 0; at < written.size();) {
        if (written.compare(at, 2, "${") != 0) {
            if (written.compare(at, 2, "$$") == 0) ++at;
            text += written[at++];
            continue;
        }
        const std::size_t end = std::min(written.find('}', at), written.size());
        const std::string inside = written.substr(at + 2, end - at - 2);
        const std::size_t fallback = inside.find(":-");
        const bool has_default = fallback != std::string::npos && !inside.starts_with("file:");
        text += has_default ? inside.substr(fallback + 2) : elsewhere;
        at = end + 1;
    }
    return text;
}

bool is_clear(const std::string& password) {
    return !password.empty() && password.find(kept_elsewhere) == std::string::npos;
}

// A variable may hold a part of a value, or options with their names, such as `?${OPTIONS}`.
bool holds_clear_password(const std::string& dsn) {
    const auto clear = [](const Secret& password) { return is_clear(password.reveal()); };
    const auto clear_with = [&](const std::string& elsewhere) {
        return std::ranges::any_of(passwords_of(Secret(text_in_file(dsn, elsewhere))), clear);
    };
    return clear_with(some_text) || clear_with("application_name=" + some_text);
}

// Settings and commands are left out: a secret is seldom among them.
bool is_secret_property(const std::string& name) {
    return secret_property(name) && !name.ends_with(".config") && !name.ends_with(".cmd");
}

// What is wrong, and what to write instead; '' if the value holds no password. `parent`: where it
// is.
std::string fault_of_password(const std::string& parent, const std::string& name,
                              const std::string& written) {
    if (parent == "kafka.properties" && is_secret_property(name) &&
        is_clear(text_in_file(written))) {
        return name.ends_with("password") ? "The password is in the file. Write "
                                            "`${file:kafka.password}` or `${KAFKA_PASSWORD}`."
                                          : "The secret is in the file. Write "
                                            "`${file:kafka.secret}` or `${KAFKA_SECRET}`.";
    }
    if ((name == "dsn" || name == "operator_dsn") && holds_clear_password(written)) {
        return "The password is in the file. Write `${file:dsn.secret}` or use PGPASSWORD.";
    }
    return "";
}

void search_passwords(const Node& node, const std::string& path, std::vector<Finding>& found) {
    for (std::size_t index = 0; index < node.items.size(); ++index) {
        const Node& item = node.items[index];
        const bool list = node.kind == Node::Kind::sequence;
        const std::string name = list ? "" : node.keys[index].name;
        const std::string place = list           ? path + "[" + std::to_string(index) + "]"
                                  : path.empty() ? name
                                                 : path + "." + name;
        const std::string fault = fault_of_password(path, name, item.written);
        if (!fault.empty()) {
            found.push_back({Finding::Severity::warning, item.mark, place, fault});
        }
        search_passwords(item, place, found);
    }
}

}  // namespace

std::vector<Finding> clear_passwords(const Node& root) {
    std::vector<Finding> found;
    search_passwords(root, "", found);
    return found;
}

}  // namespace onceward
