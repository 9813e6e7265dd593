#pragma once
// Records of a topic as a test writes them, what is proposed of them, and what a worker would do to
// them under that proposal. For tests alone.

#include <gtest/gtest.h>

#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/configuration/load.h"
#include "cli/fixtures/fixture_run.h"
#include "cli/proposal/proposal.h"

namespace onceward::cli_tests {

struct SampleRecord {
    std::optional<std::string> payload{};
    std::optional<std::string> key{};
    std::vector<std::pair<std::string, std::string>> headers{};
};

class Sampled {
  public:
    explicit Sampled(std::vector<SampleRecord> records) : given_(std::move(records)) {
        for (std::size_t i = 0; i < given_.size(); ++i) {
            Record& record = records_.emplace_back();
            record.offset = Offset{static_cast<std::int64_t>(i)};
            record.timestamp = std::chrono::milliseconds(1'700'000'000'000);
            record.key = given_[i].key;
            record.payload = given_[i].payload;
            for (const auto& [name, value] : given_[i].headers) {
                record.headers.push_back({name, value});
            }
        }
    }
    // A sample of payloads alone.
    static Sampled of(const std::vector<std::string>& payloads) {
        std::vector<SampleRecord> records;
        for (const std::string& payload : payloads) records.push_back({.payload = payload});
        return Sampled(std::move(records));
    }

    Proposal proposal(const std::shared_ptr<SchemaSource>& schemas = nullptr,
                      const WrittenSchema* latest = nullptr) const {
        return propose({.name = "orders",
                        .bootstrap_servers = "localhost:9092",
                        .registry = schemas ? "http://localhost:8081" : "",
                        .group = "onceward-orders"},
                       records_, schemas, latest);
    }
    // Why records would be dead letters; empty if none would be. REQUIRES: no registry.
    std::vector<std::string> refusals() const {
        const Proposal made = proposal();
        const std::string text = proposal_text(made);
        LoadOptions lenient;
        lenient.strict_environment = false;
        LoadResult loaded = load_configuration_text(text, "proposed.yaml", lenient);
        if (!loaded.usable()) {
            return {findings_json(loaded.findings, "proposed.yaml") + "\n" + text};
        }
        FixtureFile fixtures;
        for (const ProposedColumn& column : made.columns) {
            fixtures.tables[made.table].emplace_back(column.name, column.choice.choice.type);
        }
        FixtureTest test{.name = "sample", .mark = {}, .records = {}};
        for (const SampleRecord& given : given_) {
            FixtureRecord& record = test.records.emplace_back();
            record.topic = "orders";
            record.key = given.key;
            record.value = given.payload;
            record.headers.assign(given.headers.begin(), given.headers.end());
        }
        std::vector<std::string> refused;
        for (const RecordResult& result : FixtureRun(loaded.configuration, fixtures).run(test)) {
            if (result.dead_letter) refused.push_back(result.dead_letter->reason);
        }
        return refused;
    }

  private:
    std::vector<SampleRecord> given_;
    std::vector<Record> records_;
};

// The column of that name as the statement has it, such as `bigint NOT NULL`; '' if there is none.
inline std::string type_of(const Proposal& proposal, const std::string& column) {
    for (const ProposedColumn& one : proposal.columns) {
        if (one.name != column) continue;
        return one.choice.choice.type + (one.choice.required ? " NOT NULL" : "");
    }
    return "";
}

// What is said of the field, in one text.
inline std::string said_of(const Proposal& proposal, const std::string& field) {
    std::string said;
    for (const std::string& note : proposal.notes) {
        if (note.starts_with("field `" + field + "`")) said += note + "\n";
    }
    return said;
}

}  // namespace onceward::cli_tests
