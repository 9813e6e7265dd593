// `check --connect` of a configuration whose server routes alone are on.

#include "tests/integration/gateway/route_scene.h"

namespace onceward::operator_tests {
namespace {

class CheckedRoutes : public RouteScene {
  protected:
    Outcome check() { return run({"check", "--connect"}); }
};

TEST_F(CheckedRoutes, TheirServerAndTheirSinksAreLookedAt) {
    const Outcome good = check();
    EXPECT_EQ(good.exit_code, 0) << good.output;
    EXPECT_THAT(good.output, HasSubstr("database: reached, with settings that suit"));
    EXPECT_THAT(good.output,
                HasSubstr("sink of route POST /orders/{id}: its columns and types fit"));
    database().execute("ALTER TABLE " + table_ + " DROP COLUMN id");
    const Outcome without_column = check();
    EXPECT_EQ(without_column.exit_code, 78) << without_column.output;
    EXPECT_THAT(without_column.output, HasSubstr("error: http.routes[0].sink: "));
    database().execute(
        "DELETE FROM schema_migrations WHERE number = (SELECT max(number) FROM schema_migrations)");
    const Outcome older = check();
    EXPECT_EQ(older.exit_code, 78) << older.output;
    EXPECT_THAT(older.output, HasSubstr("onceward migrate up"));
}

TEST_F(CheckedRoutes, AlsoWhereAllTopicsAreOnAnotherServer) {
    std::ofstream(file_, std::ios::app)
        << "databases:\n  - {name: east, dsn: 'host=127.0.0.1 port=1'}\n"
           "topics:\n  - name: refunds\n    database: east\n"
           "    key: {preset: idempotency-key}\n    sink: {table: refunds, columns: {id: /id}}\n";
    const Outcome checked = check();
    EXPECT_EQ(checked.exit_code, 78) << checked.output;
    EXPECT_THAT(checked.output, HasSubstr("good: postgres: reached, with settings that suit"));
    EXPECT_THAT(checked.output, HasSubstr("error: databases[0]: PostgreSQL says"));
}

}  // namespace
}  // namespace onceward::operator_tests
