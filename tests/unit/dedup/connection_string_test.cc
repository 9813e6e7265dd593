#include "dedup/postgres/connection_string.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace onceward {
namespace {

using testing::IsEmpty;
using testing::UnorderedElementsAre;

TEST(ConnectionString, ItsVariablesNameWhatItNames) {
    EXPECT_THAT(environment_of(Secret("host=/run/here user=me password='a b' dbname=events")),
                UnorderedElementsAre("PGHOST=/run/here", "PGUSER=me", "PGPASSWORD=a b",
                                     "PGDATABASE=events"));
    EXPECT_THAT(environment_of(Secret("postgresql://me@there:5433/events?sslmode=require")),
                UnorderedElementsAre("PGHOST=there", "PGPORT=5433", "PGUSER=me",
                                     "PGDATABASE=events", "PGSSLMODE=require"));
}

TEST(ConnectionString, WhatIsNoneHasNoVariables) {
    EXPECT_FALSE(valid_connection_string(Secret("host")));
    EXPECT_THAT(environment_of(Secret("host")), IsEmpty());
}

}  // namespace
}  // namespace onceward
