#include "cli/dlq/letter_lines.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <stdexcept>
#include <vector>

#include "dedup/base/text.h"
#include "dedup/postgres/transaction.h"
#include "schemas/queries.h"
#include "sinks/dead_letters/dead_letter_sink.h"

namespace onceward {
namespace {

constexpr std::int64_t page_letters = 100;
constexpr std::size_t page_lines = 500;
constexpr std::size_t line_page_bytes = 8 << 20;
constexpr std::chrono::seconds longest_wait{1};  // for lines, until the caller has its turn

enum class JsonKind : std::uint8_t { text, optional_text, natural, bytes, list, optional_list };
struct Member {
    const char* name;
    JsonKind kind;
};
constexpr std::array members{
    Member{"form", JsonKind::text},
    Member{"number", JsonKind::natural},
    Member{"group", JsonKind::text},
    Member{"topic", JsonKind::text},
    Member{"identity", JsonKind::text},
    Member{"partition", JsonKind::natural},
    Member{"offset", JsonKind::natural},
    Member{"timestamp", JsonKind::optional_text},
    Member{"record_key", JsonKind::bytes},
    Member{"headers", JsonKind::list},
    Member{"payload", JsonKind::bytes},
    Member{"key", JsonKind::bytes},
    Member{"digest", JsonKind::optional_text},
    Member{"class", JsonKind::text},
    Member{"sqlstate", JsonKind::text},
    Member{"reason", JsonKind::text},
    Member{"attempts", JsonKind::natural},
    Member{"created_at", JsonKind::text},
    Member{"resolved_at", JsonKind::optional_text},
    Member{"redrive_began_at", JsonKind::optional_text},
    Member{"redriven_at", JsonKind::optional_text},
    Member{"fingerprint", JsonKind::optional_text},
    Member{"first_fingerprint", JsonKind::optional_text},
    Member{"first_places", JsonKind::optional_list},
};
constexpr const char* form = "onceward-dead-letter/1";

bool fits(const nlohmann::json& value, JsonKind kind) {
    switch (kind) {
        case JsonKind::text: return value.is_string();
        case JsonKind::optional_text: return value.is_string() || value.is_null();
        case JsonKind::natural: return value.is_number_unsigned();
        case JsonKind::bytes: {
            std::string bytes;
            return value.is_null() ||
                   (value.is_string() && append_base64(value.get<std::string>(), bytes));
        }
        case JsonKind::list: return value.is_array();
        case JsonKind::optional_list: return value.is_array() || value.is_null();
    }
    return false;
}

std::string problem_of_members(const nlohmann::json& letter) {
    for (const Member& member : members) {
        if (!letter.contains(member.name)) return std::string("`") + member.name + "` is missing";
        if (!fits(letter[member.name], member.kind)) {
            return std::string("`") + member.name + "` is not as `dlq export` writes it";
        }
    }
    for (const auto& [name, value] : letter.items()) {
        if (std::ranges::none_of(members, [&](const Member& one) { return name == one.name; })) {
            return "`" + printable(name) + "` is not known here";
        }
    }
    try {
        static_cast<void>(stored_headers(letter["headers"].dump()));
    } catch (const std::runtime_error&) {
        return "`headers` are not as `dlq export` writes them";
    }
    return "";
}

// Pages of lines, each read by a thread of its own. Throws std::runtime_error for a line that is no
// letter, and if the lines cannot be read.
class LineReader {
  public:
    LineReader(std::istream& lines, const std::string& group, const std::string& topic)
        : lines_(lines), group_(group), topic_(topic) {}

    // Returns an empty page at the end. `waiting` is called each second until the page is there.
    std::vector<std::string> page(const std::function<void()>& waiting) {
        std::future<std::vector<std::string>> next =
            std::async(std::launch::async, [this] { return read(); });
        try {
            while (next.wait_for(longest_wait) != std::future_status::ready) waiting();
        } catch (...) {
            // The future waits for its thread, which then ends after the line that it reads.
            stopped_ = true;
            throw;
        }
        return next.get();
    }

  private:
    std::vector<std::string> read() {
        std::vector<std::string> page;
        std::size_t bytes = 0;
        std::string line;
        while (page.size() < page_lines && bytes < line_page_bytes && !stopped_ &&
               std::getline(lines_, line)) {
            ++number_;
            if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
            const std::string problem = problem_of_line(line, group_, topic_);
            if (!problem.empty()) {
                throw std::runtime_error("line " + std::to_string(number_) + ": " + problem);
            }
            bytes += line.size();
            page.push_back(line);
        }
        if (lines_.bad()) throw std::runtime_error("the lines cannot be read");
        return page;
    }

    std::istream& lines_;
    const std::string& group_;
    const std::string& topic_;
    std::int64_t number_ = 0;
    std::atomic<bool> stopped_ = false;
};

}  // namespace

std::string problem_of_line(std::string_view line, const std::string& group,
                            const std::string& topic) {
    const nlohmann::json letter = nlohmann::json::parse(line, nullptr, false);
    if (!letter.is_object()) return "it is not a JSON object";
    std::string problem = problem_of_members(letter);
    if (!problem.empty()) return problem;
    if (letter["form"] != form) return std::string("its form is not `") + form + "`";
    if (letter["group"] != group) {
        return "it is of another group; name that one with --group";
    }
    if (!topic.empty() && letter["topic"] != topic) return "it is not of topic " + topic;
    return "";
}

std::int64_t export_letters(Connection& connection, const DeadLetterFilter& filter,
                            const std::function<void(const std::string& line)>& write) {
    DeadLetterFilter page = filter;
    page.limit = page_letters;
    std::int64_t count = 0;
    while (true) {
        const QueryResult rows =
            connection.query(sql::dlq_export, parameters_of(page), matching_letters(connection));
        for (int row = 0; row < rows.rows(); ++row) {
            // What a terminal would obey is escaped.
            write(nlohmann::ordered_json::parse(rows.text(row, 1)).dump(-1, ' ', true));
            page.after = rows.integer(row, 0);
        }
        count += rows.rows();
        if (rows.rows() < page_letters) return count;
    }
}

ImportedLetters import_letters(Connection& connection, std::istream& lines,
                               const std::string& group, const std::string& topic, bool really) {
    ImportedLetters result;
    LineReader reader(lines, group, topic);
    std::vector<std::string> page = reader.page([] {});
    OwnedTransaction transaction(connection);
    const auto send = [&](std::span<const std::string> letters) {
        const std::vector<std::optional<std::string_view>> views(letters.begin(), letters.end());
        const QueryResult done = transaction.query(sql::dlq_import, Parameters{}.texts(views));
        result.added += done.integer(0, 0);
        result.discarded += done.integer(0, 1);
        result.read += static_cast<std::int64_t>(letters.size());
    };
    // DANGER: the server ends a session that is idle in a transaction, and the next line may take
    // long to come. A statement without letters keeps it.
    for (; !page.empty(); page = reader.page([&] { send({}); })) send(page);
    result.present = result.read - result.added - result.discarded;
    if (!really) return result;
    const nlohmann::json counts{{"read", result.read},
                                {"added", result.added},
                                {"present", result.present},
                                {"discarded", result.discarded}};
    transaction.query(sql::audit_write, {"dlq import", topic.empty() ? group : group + "/" + topic,
                                         "done", counts.dump()});
    transaction.commit();
    return result;
}

}  // namespace onceward
