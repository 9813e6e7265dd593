#include "sinks/table/table_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dedup/sink/sink.h"

namespace onceward {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Plan : public testing::Test {
  protected:
    Plan() {
        table_.schema = "shop";
        table_.name = "orders";
        table_.quoted_name = "\"shop\".\"orders\"";
        table_.may_insert = table_.may_delete = true;
        table_.types[23] = {.name = "integer"};
        table_.types[25] = {.name = "text"};
        column("id", 23);
        column("note", 25);
        table_.unique_keys = {{"id"}};
        options_.columns = {{"id", {FieldSource::Kind::field, "/id"}},
                            {"note", {FieldSource::Kind::header, "note"}}};
    }
    void column(const std::string& name, std::uint32_t type) {
        CatalogColumn column;
        column.name = name;
        column.type = type;
        column.type_name = table_.types[type].name;
        column.may_select = column.may_update = true;
        table_.columns.push_back(column);
    }
    std::string problems() {
        try {
            make_plan(options_, table_);
            return "";
        } catch (const SinkMismatch& mismatch) {
            return mismatch.what();
        }
    }
    TableSinkOptions options_;
    CatalogTable table_;
};

TEST_F(Plan, EverythingThatIsWrongIsSaidAtOnce) {
    table_.persistence = 'u';
    table_.may_insert = false;
    options_.columns[1].name = "nota";
    EXPECT_THAT(problems(), AllOf(HasSubstr("unlogged"), HasSubstr("refuses INSERT"),
                                  HasSubstr("did you mean `note`?")));
}

TEST_F(Plan, AColumnFarFromEveryOtherIsNotGuessed) {
    options_.columns[1].name = "quantity";
    EXPECT_THAT(problems(),
                AllOf(HasSubstr("no column `quantity`"), testing::Not(HasSubstr("mean"))));
}

TEST_F(Plan, AColumnMappedTwiceIsRefused) {
    options_.columns[1].name = "id";
    EXPECT_THAT(problems(), HasSubstr("maps column `id` twice"));
}

TEST_F(Plan, AHeaderIsWholeAndAFieldIsNot) {
    const TablePlan plan = make_plan(options_, table_);
    EXPECT_EQ(plan.columns[0].provenance, Provenance::field);
    EXPECT_EQ(plan.columns[1].provenance, Provenance::whole);
}

TEST_F(Plan, AnUpsertNeverAssignsItsKey) {
    options_.mode = TableSinkOptions::Mode::upsert;
    options_.conflict_target = {"id"};
    const TablePlan plan = make_plan(options_, table_);
    using Piece = std::pair<std::string_view, std::string>;
    EXPECT_THAT(plan.pieces,
                testing::IsSupersetOf({Piece("action", "UPDATE SET \"note\" = excluded.\"note\""),
                                       Piece("target", "\"id\"")}));
}

TEST_F(Plan, ADomainThatNeverEndsIsUnsupported) {
    table_.types[100] = {.kind = 'd', .base = 101, .name = "ring"};
    table_.types[101] = {.kind = 'd', .base = 100, .name = "ring"};
    table_.columns[0].type = 100;
    EXPECT_THAT(problems(), HasSubstr("cannot write"));
}

TEST_F(Plan, ADomainThatIsNotNullIsFoundBelowOthers) {
    table_.types[100] = {.kind = 'd', .base = 101, .name = "upper"};
    table_.types[101] = {.kind = 'd', .base = 23, .name = "filled", .not_null = true};
    column("other", 100);
    options_.transport = TableSinkOptions::Transport::unnest;
    EXPECT_THAT(problems(), HasSubstr("has column `other` of a domain that is NOT NULL"));
    table_.types[101].not_null = false;
    EXPECT_EQ(problems(), "");
}

// Any number of rows is a sum of these, and no statement has more than 65,535 parameters, the most
// that the protocol can count.
TEST_F(Plan, ValuesTravelInPowersOfTwoRowsAndWithinTheProtocolsLimit) {
    options_.transport = TableSinkOptions::Transport::values;
    const auto counts = [&] {
        std::vector<std::size_t> all;
        const TablePlan plan = make_plan(options_, table_);
        for (const ValueLists& list : plan.rows_of_values) all.push_back(list.count);
        return all;
    };
    EXPECT_THAT(counts(), testing::ElementsAre(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024));
    EXPECT_EQ(make_plan(options_, table_).rows_of_values[1].text, "($1, $2), ($3, $4)");
    for (int more = 0; more < 198; ++more) {
        const std::string name = "more" + std::to_string(more);
        column(name, 25);
        options_.columns.push_back({name, {FieldSource::Kind::field, "/" + name}});
    }
    EXPECT_THAT(counts(), testing::ElementsAre(1, 2, 4, 8, 16, 32, 64, 128, 256));
}

TEST_F(Plan, ATableThatCitusManagesIsWrittenByValuesInEachTransport) {
    table_.citus = CitusTable{.kind = CitusTable::Kind::spread, .name = "orders", .column = "id"};
    for (const auto transport :
         {TableSinkOptions::Transport::copy, TableSinkOptions::Transport::unnest}) {
        options_.transport = transport;
        const TablePlan plan = make_plan(options_, table_);
        EXPECT_TRUE(plan.values && plan.tuples);
        EXPECT_THAT(plan.note, HasSubstr("distributes by `id`"));
    }
    options_.transport = TableSinkOptions::Transport::copy;
    table_.row_security = table_.has_rules = true;  // which COPY could not pass
    EXPECT_EQ(problems(), "");
}

TEST_F(Plan, ADistributionColumnWithADefaultNeedsNoSource) {
    table_.citus = CitusTable{.kind = CitusTable::Kind::spread, .name = "orders", .column = "id"};
    options_.columns.erase(options_.columns.begin());
    EXPECT_THAT(problems(), HasSubstr("is distributed by column `id`"));
    table_.columns[0].has_default = true;
    EXPECT_EQ(problems(), "");
}

}  // namespace
}  // namespace onceward
