// Records that Debezium made with its default settings (tests/debezium/run captured them), through
// decoder, key and table sink, compared with the table that they are of.

#include <fstream>
#include <set>

#include "consumer/intake/message_builder.h"
#include "tests/integration/sinks/table_fixture.h"

namespace onceward::support {
namespace {

using testing::IsEmpty;

const std::string folder = ONCEWARD_SOURCE_FOLDER "/tests/debezium/";

std::string file(const std::string& name) {
    std::ifstream stream(folder + name);
    return {std::istreambuf_iterator<char>(stream), {}};
}

// A line of the captured file, whose key and value are the bytes that Debezium made.
struct Captured {
    std::string key;
    std::optional<std::string> value;
};

std::vector<Captured> captured(const std::string& name) {
    std::ifstream stream(folder + name);
    std::vector<Captured> records;
    for (std::string line; std::getline(stream, line);) {
        const std::size_t key = line.find(",\"key\":") + 7;
        const std::size_t end = line.find(",\"value\":", key);
        const std::string value = line.substr(end + 9, line.size() - 1 - end - 9);
        records.push_back(
            {line.substr(key, end - key), value == "null" ? std::nullopt : std::optional(value)});
    }
    return records;
}

class DebeziumCopy : public TableSinkTest {
  protected:
    DebeziumCopy() {
        database().execute("SET TimeZone = 'UTC'");
        database().execute(file("source.sql"));
        options_.table = schema_.user_table("target", "LIKE items INCLUDING INDEXES");
        upsert_by({"id"});
    }

    // A new configuration: each column that the copy has is mapped to the field of its name.
    void configure() {
        std::vector<std::string> columns;
        for (const std::string& name :
             rows("SELECT attname FROM pg_attribute WHERE attrelid = 'target'::regclass AND attnum "
                  "> 0 AND NOT attisdropped ORDER BY attnum")) {
            columns.push_back(name);
        }
        map(columns);
        sink_.reset();
        prepare();
        FormatOptions format;
        format.envelope = Envelope::debezium;
        format.tombstones = TombstonePolicy::skip;
        KeyOptions key;
        key.sources = key_preset("debezium-postgres").value();
        builder_ = std::make_unique<MessageBuilder>(
            MessageBuilderOptions{"group", "shop.public.items", format, key}, *sink_);
    }

    // In one transaction, each key once, as the processor does it. The number of messages applied.
    std::size_t apply(const std::vector<Captured>& records) {
        Chunk chunk;
        std::vector<const Message*> fresh;
        for (const Captured& captured : records) {
            Record record;
            record.offset = Offset{next_offset_++};
            record.key = captured.key;
            if (captured.value) record.payload = *captured.value;
            take_now(*builder_, std::move(record), chunk);
        }
        for (const Message& message : chunk.messages) {
            EXPECT_FALSE(message.rejection.has_value()) << message.rejection->reason;
            EXPECT_EQ(message.skipped, !message.record.payload.has_value());
            if (message.rejection || message.skipped) continue;
            if (claims_.insert(uuid_text(message.digest)).second) fresh.push_back(&message);
        }
        OwnedTransaction transaction(connection_);
        sink_->write(transaction, {"group", "shop.public.items"}, fresh);
        transaction.commit();
        return fresh.size();
    }

    std::vector<std::string> differences() {
        return rows(
            "SELECT 'source', r::text FROM items r EXCEPT SELECT 'source', r::text FROM "
            "target r UNION ALL (SELECT 'copy', r::text FROM target r EXCEPT SELECT 'copy', "
            "r::text FROM items r)");
    }

    std::unique_ptr<MessageBuilder> builder_;
    std::set<std::string> claims_;
    std::int64_t next_offset_ = 0;
};

TEST_F(DebeziumCopy, IsEqualToItsSourceAfterASnapshotChangesAndAChangedTable) {
    const std::vector<Captured> before = captured("records.ndjson");
    const std::vector<Captured> after = captured("records_after_schema_change.ndjson");
    ASSERT_GT(before.size(), 20U);
    ASSERT_GT(after.size(), 3U);
    configure();
    apply({before.begin(), before.begin() + 4});
    EXPECT_THAT(differences(), IsEmpty()) << "after the snapshot";
    apply({before.begin() + 4, before.end()});
    database().execute(file("changes.sql"));
    EXPECT_THAT(differences(), IsEmpty()) << "after inserts, updates and deletes";
    // The copy first, then the configuration, then the source.
    database().execute(
        "ALTER TABLE target ADD COLUMN note text DEFAULT 'none', ADD COLUMN checked_at timestamptz,"
        " ALTER COLUMN amount TYPE numeric(14, 4), DROP COLUMN letters");
    configure();
    apply(after);
    database().execute(file("schema_change.sql"));
    EXPECT_THAT(differences(), IsEmpty()) << "after the table has changed";
    EXPECT_GT(database().number("SELECT count(*) FROM target"), 10);
}

TEST_F(DebeziumCopy, ChangesThatDebeziumSendsAgainAreDuplicates) {
    const std::vector<Captured> records = captured("records.ndjson");
    configure();
    const std::size_t applied = apply(records);
    const auto tombstones = static_cast<std::size_t>(std::ranges::count_if(
        records, [](const Captured& record) { return !record.value.has_value(); }));
    EXPECT_EQ(applied, records.size() - tombstones) << "each change is a key of its own";
    // What a connector sends that was killed before it stored its offset.
    EXPECT_EQ(apply({records.begin() + 8, records.end()}), 0U);
    database().execute(file("changes.sql"));
    EXPECT_THAT(differences(), IsEmpty());
}

}  // namespace
}  // namespace onceward::support
