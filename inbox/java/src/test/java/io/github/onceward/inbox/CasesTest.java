package io.github.onceward.inbox;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.io.IOException;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.UUID;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.function.Executable;

/** Runs the cases that all packages of the inbox share. */
class CasesTest {
    private static JsonNode file(String member) throws IOException {
        return new ObjectMapper().readTree(new File(System.getProperty("inbox.cases"))).get(member);
    }

    private static Stream<JsonNode> each(JsonNode list) {
        return StreamSupport.stream(list.spliterator(), false);
    }

    @TestFactory
    Stream<DynamicTest> cases() throws Exception {
        Database.prepare();
        Database.run("SET client_min_messages = error",
            "SELECT pg_advisory_lock(hashtextextended('onceward inbox tests', 0))",
            "CREATE TABLE IF NOT EXISTS inbox_effects (operation text, value integer)");
        for (JsonNode ledger : file("ledgers")) {
            try (Connection connection = Database.source().getConnection();
                    var statement = connection.prepareStatement("SELECT onceward.register_ledger("
                        + "?, ?, ?::interval, ?::interval, ?, ?)")) {
                assertEquals(6, ledger.size(), ledger.toString());
                statement.setString(1, ledger.get("ledger").textValue());
                statement.setString(2, ledger.get("store").textValue());
                statement.setString(3, ledger.get("retention").textValue());
                statement.setString(4, ledger.get("longest_request").textValue());
                statement.setBoolean(5, ledger.get("stores_results").booleanValue());
                statement.setInt(6, ledger.get("max_result_bytes").intValue());
                statement.execute();
            }
        }
        return each(file("cases")).map(one -> test(one.get("name").textValue(), () -> {
            try (CaseRun run = new CaseRun(one)) {
                run.all();
            }
        }));
    }

    @TestFactory
    Stream<DynamicTest> fingerprints() throws IOException {
        return each(file("fingerprints")).map(one -> test(one.toString(), () ->
            assertEquals(UUID.fromString(one.get("fingerprint").textValue()),
                Key.of("k").fingerprint(one.get("content").textValue()).fingerprint())));
    }

    @TestFactory
    Stream<DynamicTest> digests() throws IOException, SQLException {
        Database.prepare();
        return each(file("digests")).map(one -> test(one.toString(), () -> {
            assertEquals(6, one.size());
            Inbox inbox = Inbox.of(one.get("operation").textValue())
                .tenant(one.get("tenant").textValue()).kind(one.get("kind").textValue());
            try (Connection tx = Database.source().getConnection()) {
                tx.setAutoCommit(false);
                Key key = CaseRun.key(one.get("key"));
                Claim claim = inbox.ledger("java").claim(tx, key);
                assertEquals(one.get("digest").textValue(), claim.digest().toString());
                Lease lease = inbox.ledger("java_leases").lease(tx, key, UUID.randomUUID(),
                    java.time.Duration.ofSeconds(1), true);
                assertEquals(one.get("digest").textValue(), lease.digest().toString());
                assertEquals(one.get("downstream_key").textValue(),
                    lease.downstreamKey().toString());
                tx.rollback();
            }
        }));
    }

    private static DynamicTest test(String name, Executable body) {
        return DynamicTest.dynamicTest(name, body);
    }
}
