#include "tests/tidy/mutex_rules.h"

#include <regex>

namespace onceward::tidy {
namespace {

// It defines them.
constexpr const char* header = "dedup/base/mutex.h";
// Sleeping until a stop is requested is a wait, which takes a lock. Nothing is shared.
constexpr const char* sleeps = "dedup/base/backoff.cc";

}  // namespace

Findings bare_mutexes(const Tree& tree) {
    static const std::regex bare(
        R"(\bstd::(\w*mutex|lock_guard|unique_lock|scoped_lock|shared_lock|condition_variable)\b)");
    Findings findings;
    for (const auto& [path, text] : tree) {
        if (!in_product(path) || path == header) continue;
        const auto lines = lines_of(code_of(text, Literals::blank));
        for (std::size_t i = 0; i < lines.size(); ++i) {
            std::smatch found;
            if (!std::regex_search(lines[i], found, bare)) continue;
            findings.push_back(place(path, i) + " has " + found.str());
        }
    }
    return findings;
}

Findings mutexes_that_guard_nothing(const Tree& tree) {
    static const std::regex mutex(R"(\b(?:Shared)?Mutex (\w+);)");
    Findings findings;
    for (const auto& [path, text] : tree) {
        if (!in_product(path) || path == sleeps) continue;
        const std::string code = code_of(text, Literals::blank);
        for (std::sregex_iterator match(code.begin(), code.end(), mutex), end; match != end;
             ++match) {
            const std::string name = (*match)[1];
            if (code.find("ONCEWARD_GUARDED_BY(" + name + ")") == std::string::npos) {
                findings.push_back(path + ": nothing is guarded by " + name);
            }
        }
    }
    return findings;
}

}  // namespace onceward::tidy
