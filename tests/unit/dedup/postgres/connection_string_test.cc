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

TEST(ConnectionString, ATypicalMistakeIsNamedAndNoValueIsShown) {
    EXPECT_NE(connection_string_hint(Secret("jdbc:postgresql://there/events")).find("jdbc:"),
              std::string::npos);
    EXPECT_NE(connection_string_hint(Secret("$ONCEWARD_DSN")).find("${NAME}"), std::string::npos);
    const std::string hint = connection_string_hint(Secret("host=a usr=me password=secret"));
    EXPECT_NE(hint.find("`user`"), std::string::npos);
    EXPECT_EQ(hint.find("secret"), std::string::npos);
    EXPECT_EQ(connection_string_hint(Secret("host=a password=x hunter2=y")), "");
}

TEST(ConnectionString, AMistakeIsNamedInAnyPlaceAndWithBlanksAround) {
    for (const char* text : {"usr=me", "host=a usr = me", "host=a\nusr=me", "host=a\tusr\t=me"}) {
        EXPECT_NE(connection_string_hint(Secret(text)).find("`user`"), std::string::npos) << text;
    }
    EXPECT_EQ(connection_string_hint(Secret("host=a,usr=me")), "");
    EXPECT_EQ(connection_string_hint(Secret("=a =b")), "");
}

TEST(ConnectionString, ALongTextIsNoDanger) {
    for (const char filling : {'a', ' ', '='}) {
        const std::string text = "x" + std::string(1'000'000, filling) + "x";
        EXPECT_EQ(connection_string_hint(Secret(text)), "");
    }
}

TEST(ConnectionString, ItsPasswordsAreThatOfTheUserAndThatOfTheKey) {
    const auto passwords = [](const char* dsn) {
        std::vector<std::string> texts;
        for (const Secret& password : passwords_of(Secret(dsn))) texts.push_back(password.reveal());
        return texts;
    };
    EXPECT_THAT(passwords("host=there user=me password='a b' sslpassword=c"),
                UnorderedElementsAre("a b", "c"));
    EXPECT_THAT(passwords("postgresql://me:a@there/events"), UnorderedElementsAre("a"));
    EXPECT_THAT(passwords("host=there user=me"), IsEmpty());
    EXPECT_THAT(passwords("password"), IsEmpty());
}

// libpq would call the rest of the password a host or a port, and its messages show these.
TEST(ConnectionString, AUriThatItsPasswordCutsIsNotValidAndTheHintSaysWhatToWrite) {
    for (const char* text :
         {"postgresql://u:secret@rest@there:5432/events", "postgres://u:secret@re@st@there/events",
          "postgresql://u:sec/ret@there:5432/events", "postgresql://u:100%zz@there/events"}) {
        EXPECT_FALSE(valid_connection_string(Secret(text))) << text;
        EXPECT_NE(connection_string_hint(Secret(text)).find("`%40`"), std::string::npos) << text;
    }
    for (const char* text :
         {"postgresql://u:secret%40rest@there:5432/events", "postgresql://u@a:1,b:2/events",
          "postgresql://[::1]:5432/events", "postgresql:///events?host=/run&port=5433",
          "host=@abstract port=5432"}) {
        EXPECT_TRUE(valid_connection_string(Secret(text))) << text;
    }
}

// libpq finds these when it connects, and then they look like a server that is away.
TEST(ConnectionString, AnImpossibleValueIsNamedByItsKeyword) {
    for (const char* text : {"host=a port=99999", "host=a,b port=5432,0", "host=a port=54x2",
                             "postgresql://a:99999/events"}) {
        EXPECT_FALSE(valid_connection_string(Secret(text))) << text;
        EXPECT_EQ(connection_string_hint(Secret(text)), " `port` is a number from 1 to 65535.");
    }
    const Secret mode("postgresql://a/events?sslmode=on");
    EXPECT_FALSE(valid_connection_string(mode));
    EXPECT_NE(connection_string_hint(mode).find("`sslmode` is one of"), std::string::npos);
    for (const char* text : {"host=a,b,c port=5432,,5433", "host=a port=' 5432 '", "host=a port=''",
                             "host=a sslmode=verify-full", "host=a sslmode=''"}) {
        EXPECT_TRUE(valid_connection_string(Secret(text))) << text;
    }
}

TEST(ConnectionString, WhatIsNoneHasNoVariables) {
    EXPECT_FALSE(valid_connection_string(Secret("host")));
    EXPECT_THAT(environment_of(Secret("host")), IsEmpty());
}

}  // namespace
}  // namespace onceward
