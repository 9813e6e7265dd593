#include "cli/configuration/load.h"

#include <gtest/gtest.h>

#include "tests/unit/cli/configuration/texts.h"

namespace onceward {
namespace {

using test::all_findings;
using test::good_text;
using test::load;
using namespace std::chrono_literals;

TEST(Loading, TheShortestFileIsGoodAndHasTheDefaults) {
    const LoadResult result = load(good_text());
    ASSERT_TRUE(result.findings.empty()) << all_findings(result);
    const Configuration& configuration = result.configuration;
    EXPECT_EQ(configuration.group, "orders");
    EXPECT_EQ(configuration.kafka.group, "orders");
    EXPECT_EQ(configuration.workers, 1);
    EXPECT_EQ(configuration.batch.messages, 5000U);
    EXPECT_EQ(configuration.batch.bytes, 8U << 20);
    ASSERT_EQ(configuration.topics.size(), 1U);
    const TopicConfiguration& topic = configuration.topics[0];
    EXPECT_EQ(topic.key.operation, "orders/payments");
    EXPECT_EQ(topic.ledger, "orders/payments");
    EXPECT_EQ(topic.format.format, Format::json);
    EXPECT_EQ(topic.on_out_of_range, OutOfRangePolicy::halt);
    EXPECT_EQ(topic.reject.action, RejectPolicy::Action::dead_letter);
    EXPECT_EQ(configuration.ledgers.at("orders/payments").retention, 24h);
}

TEST(Loading, DefaultsOfTheTableAreThoseOfTheStructs) {
    const Configuration read = load(good_text()).configuration;
    const Configuration plain;
    EXPECT_EQ(read.drain_timeout, plain.drain_timeout);
    EXPECT_EQ(read.postgres.schema, plain.postgres.schema);
    EXPECT_EQ(read.postgres.connect_timeout, plain.postgres.connect_timeout);
    EXPECT_EQ(read.postgres.statement_timeout, plain.postgres.statement_timeout);
    EXPECT_EQ(read.postgres.lock_timeout, plain.postgres.lock_timeout);
    EXPECT_EQ(read.postgres.idle_in_transaction_timeout,
              plain.postgres.idle_in_transaction_timeout);
    EXPECT_EQ(read.postgres.tcp_user_timeout, plain.postgres.tcp_user_timeout);
    EXPECT_EQ(read.postgres.client_check_interval, plain.postgres.client_check_interval);
    EXPECT_EQ(read.topics[0].format.tombstones, FormatOptions{}.tombstones);
    EXPECT_EQ(read.topics[0].reject.cap_share, RejectPolicy{}.cap_share);
    EXPECT_EQ(read.topics[0].reject.cap_window, RejectPolicy{}.cap_window);
    EXPECT_EQ(read.topics[0].reject.cap_minimum, RejectPolicy{}.cap_minimum);
    EXPECT_EQ(read.topics[0].reject.hot_key.most, RejectPolicy{}.hot_key.most);
    EXPECT_EQ(read.topics[0].reject.hot_key.within, RejectPolicy{}.hot_key.within);
    EXPECT_EQ(read.topics[0].key.length_max, KeyOptions{}.length_max);
    EXPECT_EQ(read.ledgers.begin()->second.rotate_after, LedgerOptions{}.rotate_after);
    EXPECT_EQ(read.ledgers.begin()->second.rotate_claims, LedgerOptions{}.rotate_claims);
    EXPECT_FALSE(read.ledgers.begin()->second.stores_results);
    const ResultReplayOptions answers;
    EXPECT_EQ(read.topics[0].answers.cache_bytes, answers.cache_bytes);
    EXPECT_EQ(read.topics[0].answers.limits.max_bytes, answers.limits.max_bytes);
    EXPECT_EQ(read.topics[0].answers.limits.on_too_large, answers.limits.on_too_large);
}

TEST(Loading, EveryKindOfOptionArrives) {
    const LoadResult result = load(good_text(
        "workers: 3\nlogging: {level: warning, format: json}\n"
        "batch: {messages: 10, bytes: 1MB}\n",
        "    start_fallback: latest\n"
        "    start: committed\n"
        "    tombstones: delete\n"
        "    on_reject: dead_letter\n"
        "    reject_cap: {share: 0.25, window: 2m}\n"
        "    hot_key: {most: 1000, within: 5m}\n"
        "    ledger: {name: shared, retention: 2d, rotate_after: 1500ms, rotate_claims: 1000, "
        "purge_hours: 22:00-04:00}\n"
        "    sink:\n"
        "      table: shop.payments\n"
        "      mode: upsert\n"
        "      conflict_target: [id]\n"
        "      only_if_newer: at\n"
        "      columns:\n"
        "        id: {header: id, required: true}\n"
        "        at: {metadata: timestamp}\n"
        "        key: {metadata: record_key}\n"
        "        whole: ''\n"
        "        kind: {constant: card}\n"));
    ASSERT_TRUE(result.usable()) << all_findings(result);
    const Configuration& configuration = result.configuration;
    EXPECT_EQ(configuration.workers, 3);
    EXPECT_EQ(configuration.logging.level, LogLevel::warning);
    EXPECT_EQ(configuration.logging.format, LogOptions::Format::json);
    EXPECT_EQ(configuration.batch.bytes, 1'000'000U);
    const TopicConfiguration& topic = configuration.topics[0];
    EXPECT_EQ(topic.start.fallback, StartPosition::Fallback::latest);
    EXPECT_EQ(topic.format.tombstones, TombstonePolicy::remove);
    EXPECT_EQ(topic.reject.cap_share, 0.25);
    EXPECT_EQ(topic.reject.cap_window, 120s);
    EXPECT_EQ(topic.reject.hot_key.most, 1000);
    EXPECT_EQ(topic.reject.hot_key.within, 5min);
    EXPECT_EQ(topic.ledger, "shared");
    EXPECT_EQ(configuration.ledgers.at("shared").retention, 48h);
    EXPECT_EQ(configuration.ledgers.at("shared").rotate_after, 1500ms);
    EXPECT_EQ(configuration.ledgers.at("shared").purge_hours, (DailyHours{22h, 4h}));
    const auto& table = std::get<TableSinkOptions>(topic.sink);
    EXPECT_EQ(table.mode, TableSinkOptions::Mode::upsert);
    EXPECT_EQ(table.only_if_newer, "at");
    ASSERT_EQ(table.columns.size(), 5U);
    EXPECT_TRUE(table.columns[0].required);
    EXPECT_EQ(table.columns[0].source, (FieldSource{FieldSource::Kind::header, "id"}));
    EXPECT_EQ(table.columns[1].source, (FieldSource{FieldSource::Kind::metadata, "timestamp"}));
    EXPECT_EQ(table.columns[2].source.kind, FieldSource::Kind::record_key);
    EXPECT_EQ(table.columns[3].source, (FieldSource{FieldSource::Kind::field, ""}));
    EXPECT_EQ(table.columns[4].source, (FieldSource{FieldSource::Kind::constant, "card"}));
}

TEST(Loading, AnOutboxIsASinkOrBesideOne) {
    const LoadResult result =
        load(good_text("",
                       "    sink:\n"
                       "      outbox:\n"
                       "        topic: invoices\n"
                       "        key: /customer\n"
                       "        fields: {id: {field: /id, required: true}}\n"
                       "        headers: {traceparent: {header: traceparent}}\n"
                       "        record_max: 200KB\n"
                       "    also_publish: {topic: audit}\n"));
    ASSERT_TRUE(result.findings.empty()) << all_findings(result);
    const std::vector<const OutboxOptions*> outboxes = outboxes_of(result.configuration.topics[0]);
    ASSERT_EQ(outboxes.size(), 2U);
    EXPECT_EQ(outboxes[0]->topic, "invoices");
    EXPECT_EQ(outboxes[0]->key, (FieldSource{FieldSource::Kind::field, "/customer"}));
    EXPECT_TRUE(outboxes[0]->fields.at(0).required);
    EXPECT_EQ(outboxes[0]->headers.at(0).name, "traceparent");
    EXPECT_EQ(outboxes[0]->record_max, 200'000U);
    EXPECT_EQ(outboxes[1]->topic, "audit");
    EXPECT_EQ(outboxes[1]->key.kind, FieldSource::Kind::record_key);
    EXPECT_EQ(outboxes[1]->payload.kind, FieldSource::Kind::payload);
    EXPECT_EQ(outboxes[1]->record_max, 1'000'000U);
    EXPECT_TRUE(outboxes_of(load(good_text()).configuration.topics[0]).empty());
}

TEST(Loading, AFunctionIsASinkWhoseResultsAreStoredWhereOneAsksForThem) {
    const std::string sink = "    sink: {function: shop.pay, columns: {id: /id}}\n";
    const LoadResult plain = load(good_text("", sink));
    ASSERT_TRUE(plain.findings.empty()) << all_findings(plain);
    EXPECT_EQ(std::get<FunctionSinkOptions>(plain.configuration.topics[0].sink).function,
              "shop.pay");
    EXPECT_FALSE(plain.configuration.topics[0].stores_results);
    const LoadResult results = load(good_text("", sink + "    results: {}\n"));
    ASSERT_TRUE(results.findings.empty()) << all_findings(results);
    EXPECT_TRUE(results.configuration.topics[0].stores_results);
    EXPECT_TRUE(results.configuration.ledgers.begin()->second.stores_results);
    const LoadResult reply = load(good_text(
        "", sink + "    results: {max_bytes: 1KiB, on_too_large: reject, headers: [etag], "
                   "cache: 0B}\n"
                   "    reply: {topic: answers, correlation_headers: [id]}\n"));
    ASSERT_TRUE(reply.findings.empty()) << all_findings(reply);
    const ResultReplayOptions& answers = reply.configuration.topics[0].answers;
    EXPECT_EQ(answers.limits.max_bytes, 1024U);
    EXPECT_EQ(answers.limits.on_too_large, ResultLimits::TooLarge::reject);
    EXPECT_EQ(answers.limits.headers, std::vector<std::string>{"etag"});
    EXPECT_EQ(answers.cache_bytes, 0U);
    EXPECT_EQ(answers.reply.topic, "answers");
    EXPECT_EQ(answers.reply.correlation_headers, std::vector<std::string>{"id"});
}

TEST(Loading, AWebhookHasALedgerWithLeases) {
    const LoadResult result =
        load(good_text("",
                       "    ledger: {store: lease, lease: 40s}\n"
                       "    sink:\n"
                       "      webhook:\n"
                       "        url: ${URL}\n"
                       "        method: PUT\n"
                       "        timeout: 20s\n"
                       "        retries: 7\n"
                       "        backoff: 2s\n"
                       "        retry_on: [409, 423]\n"
                       "        headers: {Authorization: 'Bearer ${TOKEN}', X-Team: 5}\n"
                       "        sign: {secret: '${SECRET}', header: X-Signature}\n"
                       "        allow_private: [10.1.0.0/16]\n"
                       "        answer_bytes: 1MiB\n"),
             {{"URL", "https://example.org/hook"}, {"TOKEN", "t0ken"}, {"SECRET", "s3cret"}});
    ASSERT_TRUE(result.usable()) << all_findings(result);
    EXPECT_TRUE(result.findings.empty()) << all_findings(result);
    const Configuration& configuration = result.configuration;
    EXPECT_EQ(configuration.ledgers.at("orders/payments").store, StoreKind::lease);
    EXPECT_EQ(configuration.ledgers.at("orders/payments").lease, 40s);
    const auto& webhook = std::get<WebhookOptions>(configuration.topics[0].sink);
    EXPECT_EQ(webhook.url.reveal(), "https://example.org/hook");
    EXPECT_EQ(webhook.method, "PUT");
    EXPECT_EQ(webhook.concurrency, 16U);
    EXPECT_EQ(webhook.timeout, 20s);
    EXPECT_EQ(webhook.connect_timeout, 3s);
    EXPECT_EQ(webhook.retries.attempts, 7);
    EXPECT_EQ(webhook.retries.backoff, 2s);
    EXPECT_EQ(webhook.retry_on, (std::vector{409, 423}));
    ASSERT_EQ(webhook.headers.size(), 2U);
    EXPECT_EQ(webhook.headers[0].first, "Authorization");
    EXPECT_EQ(webhook.headers[0].second.reveal(), "Bearer t0ken");
    EXPECT_EQ(webhook.headers[1].second.reveal(), "5");
    EXPECT_EQ(webhook.sign_secret.reveal(), "s3cret");
    EXPECT_EQ(webhook.sign_header, "X-Signature");
    EXPECT_EQ(webhook.key_header, "Idempotency-Key");
    EXPECT_EQ(webhook.allow_private, std::vector<std::string>{"10.1.0.0/16"});
    EXPECT_EQ(webhook.answer_bytes, 1 << 20);
}

TEST(Loading, AFingerprintIsOfThePayloadOfFieldsOrNone) {
    using Of = FingerprintOptions::Of;
    const auto read = [](const std::string& written) {
        std::string text = good_text();
        const std::size_t preset = text.find("idempotency-key");
        text.insert(preset + 15, ", " + written);
        const LoadResult result = load(text);
        EXPECT_TRUE(result.findings.empty()) << all_findings(result);
        return result.configuration.topics.at(0);
    };
    EXPECT_EQ(read("fingerprint: none").key.fingerprint, FingerprintOptions{});
    EXPECT_EQ(read("fingerprint: payload").key.fingerprint, (FingerprintOptions{Of::payload, {}}));
    EXPECT_EQ(read("fingerprint: payload").reject.on_conflict, std::nullopt);
    const TopicConfiguration fields =
        read("fingerprint: {fields: [/amount, /currency]}, on_conflict: halt");
    EXPECT_EQ(fields.key.fingerprint, (FingerprintOptions{Of::fields, {"/amount", "/currency"}}));
    EXPECT_EQ(fields.reject.on_conflict, RejectPolicy::OnConflict::halt);
}

TEST(Loading, AFingerprintThatNothingCanBreakIsAWarningOnly) {
    std::string text = good_text();
    text.replace(text.find("idempotency-key"), 15, "kafka-coordinates, fingerprint: payload");
    const LoadResult result = load(text);
    EXPECT_TRUE(result.usable());
    ASSERT_EQ(result.findings.size(), 1U);
    EXPECT_NE(result.findings[0].message.find("nothing is ever a conflict"), std::string::npos);
}

TEST(Loading, ATimeStartsAtThatInstant) {
    const LoadResult result = load(good_text("", "    start: 2026-01-31T12:00:00+02:00\n"));
    ASSERT_TRUE(result.usable()) << all_findings(result);
    EXPECT_EQ(result.configuration.topics[0].start.kind, StartPosition::Kind::timestamp);
    EXPECT_EQ(result.configuration.topics[0].start.timestamp, 1'769'853'600'000ms);
}

TEST(Loading, AllMistakesAreFoundInOneRunInTheirOrder) {
    const LoadResult result = load(good_text("workers: none\nbatch: {messages: 0}\nnonsense: 1\n"));
    ASSERT_EQ(result.findings.size(), 3U) << all_findings(result);
    EXPECT_EQ(result.findings[0].mark.line, 4);
    EXPECT_EQ(result.findings[1].mark.line, 5);
    EXPECT_EQ(result.findings[2].mark.line, 6);
}

TEST(Loading, ThePayloadsHashAsKeyIsAWarningOnly) {
    std::string text = good_text();
    text.replace(text.find("idempotency-key"), 15, "body-sha256");
    const LoadResult result = load(text);
    EXPECT_TRUE(result.usable());
    ASSERT_EQ(result.findings.size(), 1U);
    EXPECT_EQ(result.findings[0].severity, Finding::Severity::warning);
    EXPECT_NE(result.findings[0].message.find("two equal orders"), std::string::npos);
}

TEST(Loading, AQuoteMayGoOverLinesAndAnApostropheOpensNone) {
    for (const char* end : {"", "\n", "   ", "\n# It's the end.", "# It's the end.\n  "}) {
        const LoadResult result = load(good_text("# They're \"payments.\n",
                                                 "    sink:\n"
                                                 "      table: payments\n"
                                                 "      columns:\n"
                                                 "        id: /id  # the payment's\n"
                                                 "        plain: {constant: it's \"so}\n"
                                                 "        lines: {constant: 'two\n"
                                                 "          lines'}\n"
                                                 "        doubled: {constant: 'it''s'}\n"
                                                 "        escaped: {constant: \"a \\\"b\"}\n"
                                                 "        block:\n"
                                                 "          constant: |\n"
                                                 "            don't\n") +
                                       end);
        ASSERT_TRUE(result.findings.empty()) << all_findings(result);
        const auto& table = std::get<TableSinkOptions>(result.configuration.topics[0].sink);
        std::vector<std::string> texts;
        for (const ColumnOptions& column : table.columns) texts.push_back(column.source.text);
        EXPECT_EQ(texts, (std::vector<std::string>{"/id", "it's \"so", "two lines", "it's",
                                                   "a \"b", "don't\n"}));
    }
}

TEST(Loading, AQuoteThatTheFilesEndClosesIsRefusedHoweverTheFileEnds) {
    for (const char* end : {"", "\n", "\n\n", "  ", "\n  ", "\r\n"}) {
        const LoadResult result = load(good_text() + "    start: 'earliest" + end);
        EXPECT_EQ(all_findings(result),
                  "test.yaml:8:12: error: The quote that begins here is never closed. Close it in "
                  "this line.\n");
    }
}

TEST(Loading, BytesThatAreNotUtf8AreRefusedWithTheirLine) {
    const std::string text = good_text();
    EXPECT_EQ(all_findings(load("# caf\xe9\n" + text)),
              "test.yaml:1:6: error: The file is not UTF-8: line 1 has the byte 0xE9. Save it as "
              "UTF-8.\n");
    EXPECT_EQ(all_findings(load(text + "# caf\xc3\n")).find("test.yaml:8:6: error: "), 0U);
    EXPECT_TRUE(load("\xef\xbb\xbf# café\n" + text).findings.empty());
}

// Some shells write UTF-16 when their output goes to a file.
TEST(Loading, Utf16IsNotUtf8) {
    using namespace std::string_literals;
    for (const auto& [text, byte] :
         {std::pair("\xff\xfe"s, "0xFF"s), std::pair("\xfe\xff"s, "0xFE"s),
          std::pair("g\0r\0"s, "0x00"s)}) {
        EXPECT_NE(all_findings(load(text)).find("line 1 has the byte " + byte),
                  std::string::npos)
            << all_findings(load(text));
    }
    EXPECT_NE(all_findings(load("")).find("The file is empty."), std::string::npos);
}

TEST(Loading, AByteOrderMarkIsNoPartOfTheFirstLine) {
    const std::string mark = "\xEF\xBB\xBF";
    const LoadResult good = load(mark + good_text());
    EXPECT_TRUE(good.findings.empty()) << all_findings(good);
    const LoadResult joined = load(mark + "group:orders\nworkers: 1\n");
    EXPECT_EQ(all_findings(joined),
              "test.yaml:1:1: error: A colon needs a blank after it: `group: ...`.\n");
    const LoadResult tab = load(mark + "\tgroup: orders\n");
    EXPECT_EQ(all_findings(tab),
              "test.yaml:1:1: error: A tab indents this line. Indent with spaces.\n");
}

TEST(Loading, AMemoryBudgetIsJudgedByWhatTheProcessNeeds) {
    const auto findings = [](const std::string& text, bool strict = true) {
        return all_findings(load(text, {}, strict));
    };
    EXPECT_EQ(findings(good_text("memory: {budget: 70MiB}\n")), "");
    EXPECT_NE(findings(good_text("memory: {budget: 69MiB}\n")).find("Full queues"),
              std::string::npos);
    EXPECT_EQ(findings(good_text("memory: {budget: 0B}\n")), "");
    const std::string unknown =
        findings(good_text("workers: ${WORKERS}\nmemory: {budget: 60MiB}\n"), false);
    EXPECT_EQ(unknown.find("Full queues"), std::string::npos) << unknown;
    EXPECT_EQ(findings("group: shop\npostgres: {dsn: host=localhost}\nmemory: {budget: 24MiB}\n"
                       "http: {routes: [{method: POST, path: /orders, token: none, "
                       "sink: {table: orders, columns: {id: /id}}}]}\n"),
              "")
        << "routes alone have no budget";
}

TEST(Loading, AMissingFileIsAFinding) {
    const LoadResult result = load_configuration("no/such/file.yaml");
    EXPECT_FALSE(result.usable());
    EXPECT_EQ(all_findings(result).find("test.yaml: error: The file cannot be read"), 0U);
}

TEST(Loading, AFolderIsNoConfiguration) {
    EXPECT_FALSE(load_configuration(ONCEWARD_SOURCE_FOLDER).usable());
}

}  // namespace
}  // namespace onceward
