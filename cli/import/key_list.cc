#include "cli/import/key_list.h"

#include <charconv>

#include "schemas/queries.h"

namespace onceward {
namespace {

// Precedes a last key, which may be empty.
constexpr char behind = '>';

std::string without_end(std::string query) {
    query.erase(query.find_last_not_of("; \t\r\n") + 1);
    return query;
}

}  // namespace

QueriedKeys::QueriedKeys(const ConnectionOptions& options, std::string query)
    : connection_(options), query_(without_end(std::move(query))) {
    const QueryResult schemas = connection_.query(sql::import_schemas, {});
    description_ = "query " + query_ + " of " + connection_.database_name() + ", schemas " +
                   std::string(schemas.text(0, 0));
}

KeyPage QueriedKeys::read(const std::string& position, std::size_t limit) {
    const auto most = static_cast<std::int64_t>(limit);
    const Connection::Names names{{"query", query_}};
    const QueryResult rows =
        position.empty()
            ? connection_.query(sql::import_first_keys, Parameters{}.integer(most), names)
            : connection_.query(sql::import_next_keys,
                                Parameters{}.integer(most).text(position.substr(1)), names);
    KeyPage page;
    page.position = position;
    for (int row = 0; row < rows.rows(); ++row) page.keys.emplace_back(rows.text(row, 0));
    if (!page.keys.empty()) page.position = behind + page.keys.back();
    page.end = page.keys.size() < limit;
    return page;
}

KeysOfFile::KeysOfFile(const std::filesystem::path& file) : file_(file, std::ios::binary) {
    std::error_code error;
    const auto size = std::filesystem::file_size(file, error);
    if (error || !file_) throw KeyListError("cannot read " + file.string());
    description_ =
        "file " + std::filesystem::absolute(file).string() + " of " + std::to_string(size) +
        " bytes, written at " +
        std::to_string(std::filesystem::last_write_time(file).time_since_epoch().count());
}

KeyPage KeysOfFile::read(const std::string& position, std::size_t limit) {
    std::int64_t offset = 0;
    std::from_chars(position.data(), position.data() + position.size(), offset);
    file_.clear();
    file_.seekg(offset);
    KeyPage page;
    for (std::string line; page.keys.size() < limit && std::getline(file_, line);) {
        // The last line may have no end.
        offset += static_cast<std::int64_t>(line.size()) + (file_.eof() ? 0 : 1);
        if (line.ends_with('\r')) line.pop_back();
        if (!line.empty()) page.keys.push_back(std::move(line));
    }
    if (file_.bad()) throw KeyListError("the file cannot be read any more");
    page.position = std::to_string(offset);
    page.end = page.keys.size() < limit;
    return page;
}

}  // namespace onceward
