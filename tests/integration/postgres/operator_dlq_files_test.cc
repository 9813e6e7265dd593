// `onceward dlq export` and `import` on a real server: what is carried away comes back as it was,
// once.

#include <functional>
#include <istream>

#include "cli/dlq/letter_lines.h"
#include "tests/integration/postgres/operator_scene.h"
#include "tests/support/eventually.h"

namespace onceward::operator_tests {
namespace {

class DeadLetterFiles : public Operator {
  protected:
    ~DeadLetterFiles() override { std::filesystem::remove(file_); }

    // Bytes of every kind, and each state.
    void letters() {
        database().execute(R"(INSERT INTO dead_letters (consumer_group, topic, identity, partition,
            record_offset, record_timestamp, record_key, headers, payload, key_text, digest,
            error_class, sqlstate, reason, attempts, created_at, resolved_at, redrive_began_at,
            redriven_at, first_places) VALUES
            ('billing', 'orders', 'T', 0, 1, '2026-01-01 00:00:00.123456+00', NULL,
                '[{"name": "id", "value": "ay0x"}, {"name_base64": "/w==", "value": null}]',
                decode('00ff0a80', 'hex'), 'k-1', gen_random_uuid(), 'sink', '23505',
                E'a line\nand \u009b2J more', 2, '2026-01-02', NULL, NULL, NULL, NULL),
            ('billing', 'orders', 'T', 0, 2, NULL, '', '[]', NULL, NULL, NULL, 'tombstone', '',
                'why', 1, '2026-01-03', '2026-01-04', NULL, NULL, NULL),
            ('billing', 'orders', 'T', 0, 3, NULL, 'k', '[]', convert_to(repeat('x', 1000),
                'UTF8'), 'k-3', NULL, 'conflict', '', 'why', 1, '2026-01-03', '2026-01-04',
                '2026-01-04', NULL, '[{"group": "billing", "topic": "orders", "partition": 0,
                "offset": 0}]'),
            ('billing', 'visits', 'U', 0, 1, NULL, 'k', '[]', '', NULL, NULL, 'sink', '', 'why', 1,
                '2026-01-03', '2026-01-04', '2026-01-04', '2026-01-05', NULL))");
    }
    Outcome dlq(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), "dlq");
        arguments.insert(arguments.end(), {"--group", "billing"});
        return run_as_owner(std::move(arguments));
    }
    // Into the file.
    int export_to_file(const std::vector<std::string>& filter) {
        std::vector<std::string> arguments{"export"};
        arguments.insert(arguments.end(), filter.begin(), filter.end());
        const Outcome outcome = dlq(arguments);
        EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
        std::ofstream(file_) << outcome.output;
        return static_cast<int>(std::count(outcome.output.begin(), outcome.output.end(), '\n'));
    }
    nlohmann::json import(const std::vector<std::string>& more = {"--yes"}) {
        std::vector<std::string> arguments{"import", file_.string(), "--json"};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const Outcome outcome = dlq(arguments);
        EXPECT_EQ(outcome.exit_code, 0) << outcome.output;
        return outcome.json();
    }
    // All that the table has, but its own numbers.
    std::string content() {
        return database().value(
            "SELECT coalesce(string_agg((to_jsonb(d) - 'dead_letter')::text, "
            "' ' ORDER BY topic, record_offset), '') FROM dead_letters d");
    }

    std::filesystem::path file_ =
        std::filesystem::path(testing::TempDir()) / support::unique_name("letters");
};

TEST_F(DeadLetterFiles, ComeBackAsTheyWereAndOnce) {
    letters();
    const std::string before = content();
    EXPECT_EQ(export_to_file({"--state", "all"}), 4) << "a line each";
    const nlohmann::json here{
        {"read", 4}, {"added", 0}, {"present", 4}, {"discarded", 0}, {"done", true}};
    EXPECT_EQ(import(), here);
    EXPECT_EQ(content(), before);
    database().execute("DELETE FROM dead_letters");
    EXPECT_EQ(import({})["added"], 4);
    EXPECT_EQ(content(), "") << "a dry run";
    EXPECT_EQ(import({"--yes", "--reason", "moved"})["added"], 4);
    EXPECT_EQ(content(), before);
    EXPECT_EQ(import()["present"], 4);
    EXPECT_EQ(content(), before);
    EXPECT_EQ(database().value("SELECT concat_ws('|', target, reason, outcome, details ->> 'added')"
                               " FROM audit_log WHERE act = 'dlq import' AND reason <> ''"),
              "billing|moved|done|4");
}

TEST_F(DeadLetterFiles, HaveWhatTheFilterPicksPageByPage) {
    letters();
    database().execute(
        "INSERT INTO dead_letters (consumer_group, topic, identity, partition, record_offset, "
        "error_class, reason, attempts) SELECT 'billing', 'many', 'T', 0, n, 'sink', 'why', 1 "
        "FROM generate_series(1, 250) AS n");
    EXPECT_EQ(export_to_file({"--topic", "many"}), 250);
    EXPECT_EQ(export_to_file({"--topic", "orders"}), 2) << "open, or sent again by a redrive";
    EXPECT_EQ(export_to_file({"--class", "tombstone", "--state", "all"}), 1);
    EXPECT_EQ(dlq({"export", "--class", "hot_key"}).exit_code, 3);
}

TEST_F(DeadLetterFiles, HaveNoByteThatATerminalObeys) {
    letters();
    const Outcome outcome = dlq({"export", "--class", "sink", "--topic", "orders"});
    EXPECT_THAT(outcome.output, HasSubstr("\\u009b"));
    EXPECT_EQ(outcome.output.find("\u009b"), std::string::npos);
}

TEST_F(DeadLetterFiles, AreTakenInAllOfThemOrNone) {
    letters();
    export_to_file({"--state", "all"});
    database().execute("DELETE FROM dead_letters");
    std::ofstream(file_, std::ios::app) << "{\"form\": \"other\"}\n";
    const Outcome broken = dlq({"import", file_.string(), "--yes"});
    EXPECT_EQ(broken.exit_code, 1);
    EXPECT_THAT(broken.output, HasSubstr("line 5: "));
    EXPECT_EQ(content(), "");
    EXPECT_EQ(dlq({"import", file_.string() + ".gone", "--yes"}).exit_code, 1);
    EXPECT_EQ(database().number("SELECT count(*) FROM audit_log WHERE act = 'dlq import'"), 0);
}

TEST_F(DeadLetterFiles, DoNotBringBackWhatWasDiscarded) {
    letters();
    export_to_file({"--state", "all"});
    const Outcome gone =
        dlq({"discard", "--topic", "orders", "--class", "sink", "--reason", "a test", "--yes"});
    EXPECT_EQ(gone.exit_code, 0) << gone.output;
    const nlohmann::json done = import();
    EXPECT_EQ(done["discarded"], 1);
    EXPECT_EQ(done["present"], 3);
    EXPECT_EQ(database().number("SELECT count(*) FROM dead_letters WHERE error_class = 'sink' AND "
                                "topic = 'orders'"),
              0);
}

// A stream that asks for its next piece, in the thread that reads it.
class PiecedLines : public std::streambuf {
  public:
    explicit PiecedLines(std::vector<std::function<std::string()>> pieces)
        : pieces_(std::move(pieces)) {}

  protected:
    int_type underflow() override {
        if (next_ == pieces_.size()) return traits_type::eof();
        piece_ = pieces_[next_++]();
        if (piece_.empty()) return traits_type::eof();
        setg(piece_.data(), piece_.data(), piece_.data() + piece_.size());
        return traits_type::to_int_type(*gptr());
    }

  private:
    std::vector<std::function<std::string()>> pieces_;
    std::size_t next_ = 0;
    std::string piece_;
};

TEST_F(DeadLetterFiles, MayComeSlowlyWithoutAnIdleTransaction) {
    database().execute(
        "INSERT INTO dead_letters (consumer_group, topic, identity, partition, record_offset, "
        "error_class, reason, attempts) SELECT 'billing', 'many', 'T', 0, n, 'sink', 'why', 1 "
        "FROM generate_series(1, 500) AS n");
    Connection operators(schema_.owner());
    std::string page;  // of as many lines as are sent at once
    export_letters(operators, {.group = "billing"},
                   [&](const std::string& line) { page += line + '\n'; });
    database().execute("DELETE FROM dead_letters");
    const auto seen = [&](const std::string& column) {
        return database().value("SELECT " + column + " FROM pg_stat_activity WHERE pid = " +
                                std::to_string(operators.pid()));
    };
    PiecedLines pieces({[&] {
                            EXPECT_EQ(seen("state"), "idle") << "no line is there yet";
                            return page;
                        },
                        [&] {
                            EXPECT_EQ(seen("state"), "idle in transaction");
                            const std::string since = seen("state_change");
                            EXPECT_TRUE(support::eventually(std::chrono::seconds(20), [&] {
                                return seen("state_change") != since;
                            })) << "the server would end the session";
                            return std::string();
                        }});
    std::istream lines(&pieces);
    EXPECT_EQ(import_letters(operators, lines, "billing", "", true).added, 500);
    EXPECT_EQ(database().number("SELECT count(*) FROM dead_letters"), 500);
}

}  // namespace
}  // namespace onceward::operator_tests
