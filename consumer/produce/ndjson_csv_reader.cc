#include "consumer/produce/ndjson_csv_reader.h"

#include <set>
#include <string_view>
#include <vector>

#include "consumer/decode/decoder.h"
#include "dedup/base/text.h"

namespace onceward {
namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

[[noreturn]] void fail(std::int64_t line, const std::string& what) {
    throw InputError("line " + std::to_string(line) + ": " + what);
}

// Reads a line without its end; the first one without a byte order mark. False at the end.
bool read_line(std::istream& input, std::string& line, std::int64_t& number) {
    if (!std::getline(input, line)) return false;
    if (++number == 1 && line.starts_with(byte_order_mark)) line.erase(0, byte_order_mark.size());
    if (line.ends_with('\r')) line.pop_back();
    return true;
}

class CsvReader {
  public:
    CsvReader(std::istream& input, char separator) : input_(input), separator_(separator) {
        const std::optional<Row> header = read_row();
        if (!header) throw InputError("the CSV is empty: its first line names the columns");
        std::set<std::string> seen;
        for (const Field& field : header->fields) {
            if (field.text.empty()) fail(header->line, "a column has no name");
            if (!seen.insert(field.text).second)
                fail(header->line, "column " + field.text + " is there twice");
            columns_.push_back(field.text);
        }
    }

    std::optional<InputRecord> operator()() {
        const std::optional<Row> row = read_row();
        if (!row) return std::nullopt;
        if (row->fields.size() != columns_.size()) {
            fail(row->line, std::to_string(row->fields.size()) +
                                " fields, but the first line has " +
                                std::to_string(columns_.size()) + " columns");
        }
        InputRecord record{"{", row->line};
        for (std::size_t index = 0; index < columns_.size(); ++index) {
            const Field& field = row->fields[index];
            if (field.text.empty() && !field.quoted) continue;
            if (record.json.size() > 1) record.json += ',';
            append_json_string(columns_[index], record.json);
            record.json += ':';
            append_json_string(field.text, record.json);
        }
        record.json += '}';
        return record;
    }

  private:
    struct Field {
        std::string text;
        bool quoted = false;
    };
    struct Row {
        std::vector<Field> fields;
        std::int64_t line = 0;
    };

    // A row may go over several lines: a line break inside quotes belongs to the field.
    std::optional<Row> read_row() {
        std::string line;
        do {
            if (!read_line(input_, line, line_)) return std::nullopt;
        } while (line.empty());

        Row row{{Field{}}, line_};
        bool inside = false;  // quotes
        std::optional<std::string> wrong;
        for (std::size_t at = 0; at <= line.size(); ++at) {
            if (at == line.size()) {
                if (!inside) break;
                if (!read_line(input_, line, line_)) fail(row.line, "a quote is never closed");
                row.fields.back().text += '\n';
                at = std::string::npos;  // the loop's step makes it 0
                continue;
            }
            Field& field = row.fields.back();
            const char character = line[at];
            if (inside && character == '"' && at + 1 < line.size() && line[at + 1] == '"') {
                field.text += line[++at];
            } else if (character == '"' && (inside || (field.text.empty() && !field.quoted))) {
                inside = !inside;
                field.quoted = true;
            } else if (!inside && character == separator_) {
                row.fields.emplace_back();
            } else if (!inside && (character == '"' || field.quoted)) {
                wrong = "a quote is in the middle of a field: double it, and quote the field";
                field.text += character;
            } else {
                field.text += character;
            }
        }
        for (const Field& field : row.fields) {
            if (!is_utf8(field.text)) wrong = "this is not UTF-8";
        }
        if (wrong) fail(row.line, *wrong);
        return row;
    }

    std::istream& input_;
    char separator_;
    std::vector<std::string> columns_;
    std::int64_t line_ = 0;
};

}  // namespace

RecordReader read_ndjson(std::istream& input) {
    return [&input, line = std::int64_t{0}]() mutable -> std::optional<InputRecord> {
        for (InputRecord record; read_line(input, record.json, line);) {
            record.line = line;
            if (record.json.find_first_not_of(" \t") != std::string::npos) return record;
        }
        return std::nullopt;
    };
}

RecordReader read_csv(std::istream& input, char separator) { return CsvReader(input, separator); }

}  // namespace onceward
