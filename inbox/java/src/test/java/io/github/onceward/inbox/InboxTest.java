package io.github.onceward.inbox;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** What cases.json does not have: wrong arguments, versions, roles, and keys with a time. */
class InboxTest {
    private Connection tx;
    private Inbox inbox;

    @BeforeEach
    void begin() throws SQLException {
        Database.prepare();
        tx = Database.source().getConnection();
        tx.setAutoCommit(false);
        inbox = Inbox.of(Database.operation()).ledger("java");
    }

    @AfterEach
    void end() throws SQLException {
        if (tx != null) {
            tx.close();
        }
    }

    private static void refused(Executable call) {
        var error = assertThrows(InboxException.Argument.class, call);
        assertEquals("OW004", error.sqlState());
        assertNull(error.getCause(), "it was sent");
    }

    @Test
    void wrongArgumentsAreNotSent() throws SQLException {
        refused(() -> Key.of((String) null));
        refused(() -> Key.of((byte[]) null));
        refused(() -> Key.of("half of a pair: \ud83d"));
        refused(() -> Key.of("k").fingerprint("\ude00"));
        refused(() -> Key.of("k").mintedAt(Instant.MAX));
        refused(() -> Inbox.of(null));
        refused(() -> Inbox.of("a\0b"));
        refused(() -> Inbox.of(""));
        refused(() -> inbox.kind(""));
        refused(() -> Inbox.of("a").tenant(null));
        refused(() -> inbox.claim(null, Key.of("k")));
        refused(() -> inbox.claim(tx, null));
        refused(() -> inbox.claimMany(tx, null));
        refused(() -> inbox.claimMany(tx, java.util.Arrays.asList(Key.of("k"), null)));
        refused(() -> inbox.finish(tx, null));
        refused(() -> inbox.endLease(tx, null, Result.EMPTY));
        refused(() -> inbox.lease(tx, Key.of("k"), UUID.randomUUID(), null, true));
        refused(() -> new Result(0, List.of(), null, false));
        refused(() -> new Header("name", null));
        refused(() -> OnceOptions.of(null));
        refused(() -> Once.inside((javax.sql.DataSource) null, inbox, Key.of("k"),
            OnceOptions.of(Codec.text()), one -> "v"));
        List<Claim> claims = List.of(inbox.claim(tx, Key.of("1")), inbox.claim(tx, Key.of("2")));
        refused(() -> inbox.finishMany(tx, claims, 0));
        tx.rollback();
        tx.setAutoCommit(true);
        refused(() -> inbox.claim(tx, Key.of("k")));
    }

    @Test
    void argumentsThatTheDatabaseRefuses() throws SQLException {
        Inbox leases = inbox.ledger("java_leases");
        for (Executable one : List.<Executable>of(
                () -> inbox.claim(tx, Key.of("")),
                () -> leases.lease(tx, Key.of("k"), UUID.randomUUID(), Duration.ofDays(2), true),
                () -> leases.lease(tx, Key.of("k"), UUID.randomUUID(), Duration.ZERO, true),
                () -> inbox.claimMany(tx, java.util.Collections.nCopies(10_001, Key.of("k"))))) {
            var error = assertThrows(InboxException.Argument.class, one);
            assertTrue(error.getCause() instanceof SQLException);
            tx.rollback();
        }
    }

    @Test
    void aClosedConnectionIsTheDriversError() throws SQLException {
        tx.close();
        assertThrows(SQLException.class, () -> inbox.claim(tx, Key.of("k")));
    }

    @Test
    void otherVersionsAreRefused() throws SQLException {
        Database.run("SET client_min_messages = error",
            "SELECT pg_advisory_lock(hashtextextended('onceward inbox tests', 0))",
            "CREATE SCHEMA IF NOT EXISTS \"java version 2\"",
            "CREATE OR REPLACE FUNCTION \"java version 2\".inbox_version() RETURNS integer "
                + "LANGUAGE sql AS 'SELECT 2'");
        var newer = assertThrows(InboxException.Version.class,
            () -> inbox.schema("java version 2").claim(tx, Key.of("k")));
        assertEquals("schema java version 2 has version 2 of the inbox, and this package needs 1: "
            + "upgrade the package", newer.getMessage());
        tx.rollback();
        var none = assertThrows(InboxException.Version.class,
            () -> inbox.schema("java no schema").claim(tx, Key.of("k")));
        assertTrue(none.getMessage().endsWith("upgrade the schema with `onceward migrate up`"));
    }

    @Test
    void aLedgerThatIsNotNamedIsThatOfTheFunction() throws SQLException {
        Database.run("SET client_min_messages = error",
            "SELECT pg_advisory_lock(hashtextextended('onceward inbox tests', 0))",
            "SELECT onceward.register_ledger('inbox')",
            "SELECT onceward.register_ledger('inbox_leases', 'lease')");
        for (String unnamed : new String[] {null, ""}) {
            Inbox other = inbox.ledger(unnamed);
            Key key = Key.of("of " + unnamed);
            other.finish(tx, other.claim(tx, key));
            other.finishMany(tx, other.claimMany(tx, List.of(Key.of("many of " + unnamed))), 0);
            assertEquals(Outcome.DUPLICATE, inbox.ledger("inbox").claim(tx, key).outcome());
            Lease lease = other.lease(tx, key, UUID.randomUUID(), Duration.ofSeconds(9), true);
            assertTrue(other.extendLease(tx, lease, Duration.ofSeconds(10)));
            assertTrue(inbox.ledger("inbox_leases").releaseLease(tx, lease));
        }
    }

    @Test
    void aRoleWithAGrantAlone() throws SQLException {
        String operation = Database.operation();
        Database.run("SET client_min_messages = error",
            "SELECT pg_advisory_lock(hashtextextended('onceward inbox tests', 0))",
            "DO $$ BEGIN CREATE ROLE java_inbox_role; EXCEPTION WHEN duplicate_object THEN NULL; "
                + "END $$",
            "SELECT onceward.grant_inbox('java_inbox_role', 'java', '" + operation + "')",
            "SELECT onceward.grant_inbox('java_inbox_role', 'java_leases', '" + operation + "')");
        tx.createStatement().execute("SET ROLE java_inbox_role");
        tx.commit();
        Inbox own = Inbox.of(operation).ledger("java");
        Claim claim = own.claim(tx, Key.of("1"));
        own.finish(tx, claim, new Result(201, List.of(new Header("a", "b")), new byte[3], false));
        List<Claim> claims = own.claimMany(tx, List.of(Key.of("1"), Key.of("2")));
        assertEquals(List.of(new Header("a", "b")), claims.get(0).headers());
        own.finishMany(tx, claims, 0);
        tx.commit();
        Inbox leases = own.ledger("java_leases");
        for (String key : List.of("1", "2")) {
            Lease lease = leases.lease(tx, Key.of(key), UUID.randomUUID(), Duration.ofSeconds(9),
                true);
            assertTrue(leases.extendLease(tx, lease, Duration.ofSeconds(10)));
            assertTrue(key.equals("1") ? leases.endLease(tx, lease, Result.EMPTY)
                : leases.releaseLease(tx, lease));
        }
        tx.commit();
        assertThrows(InboxException.NotAllowed.class, () -> inbox.claim(tx, Key.of("k")));
        tx.rollback();
        SQLException table = assertThrows(SQLException.class,
            () -> tx.createStatement().execute("SELECT FROM onceward.ledgers"));
        assertEquals("42501", table.getSQLState());
        tx.rollback();
        Database.run("SELECT onceward.revoke_inbox('java_inbox_role', 'java', '" + operation + "')",
            "SELECT onceward.revoke_inbox('java_inbox_role', 'java_leases', '" + operation + "')");
    }

    @Test
    void keysWithATime() throws SQLException {
        UUID first = Uuid7.next();
        assertEquals(7, first.version());
        assertEquals(2, first.variant());
        assertNotEquals(first, Uuid7.next());
        Instant minted = Uuid7.mintedAt(first.toString()).orElseThrow();
        assertTrue(Duration.between(minted, Instant.now()).abs().toSeconds() < 5);
        // The example of RFC 9562, A.6.
        assertEquals(Optional.of(Instant.parse("2022-02-22T19:22:22Z")),
            Uuid7.mintedAt("017F22E2-79B0-7CC3-98C4-DC0C0C07398F"));
        for (String other : new String[] {null, "", "order-17", UUID.randomUUID().toString(),
                "17F22E2-79B0-7CC3-98C4-DC0C0C07398F", first + "0"}) {
            assertEquals(Optional.empty(), Uuid7.mintedAt(other));
        }
        // A client may choose a year beyond 9999.
        Instant far = Uuid7.mintedAt("f0000000-0000-7000-8000-000000000000").orElseThrow();
        refused(() -> Key.of("k").mintedAt(far));
        Key key = Key.of(first.toString()).mintedAt(minted.plusNanos(999));
        Claim claim = inbox.claim(tx, key);
        inbox.finish(tx, claim);
        assertEquals(Outcome.DUPLICATE, inbox.claim(tx, key.mintedAt(minted)).outcome());
        assertEquals(Outcome.CONFLICT,
            inbox.claim(tx, key.mintedAt(minted.plusMillis(1))).outcome());
    }

    @Test
    void errorsThatAreWorthAnotherTry() {
        for (String state : List.of("40001", "40P01", "55P03", "08006", "57P01")) {
            assertTrue(InboxException.isRetryable(
                new IllegalStateException(new SQLException("", state))), state);
        }
        assertFalse(InboxException.isRetryable(new SQLException("", "23505")));
        assertFalse(InboxException.isRetryable(new IllegalStateException()));
        assertFalse(InboxException.isRetryable(new SQLException("")));
    }

    @Test
    void aFailureWithoutABody() {
        assertEquals(0, new InboxException.Failed(402, (String) null).body().length);
        assertEquals(0, new InboxException.Failed(402, (byte[]) null).body().length);
    }

    @Test
    void namesOfADatabase() {
        assertEquals(Map.of("host", "h", "port", "5", "user", "u@", "password", "p", "dbname", "d"),
            Database.words("postgresql://u%40:p@h:5/d"));
        assertEquals(Map.of("host", "h", "dbname", "a b"),
            Database.words("host=h dbname = 'a b'"));
    }

    @Test
    void keysOfOtherLanguagesAreTheSame() throws SQLException {
        // By SQL alone, as a program in another language would claim it.
        String operation = Database.operation();
        tx.createStatement().execute("SELECT onceward.finish(a.digest, a.attempt, 200, "
            + "'[{\"name\": \"x\", \"value\": \"ü\"}]', '{\"id\":\"o\",\"amount\":1,\"new\":2}', "
            + "ledger => 'java') FROM onceward.claim('" + operation
            + "', '', 'id', 'k', ledger => 'java') AS a");
        tx.commit();
        Claim claim = Inbox.of(operation).ledger("java").claim(tx, Key.of("k"));
        assertEquals(List.of(new Header("x", "ü")), claim.headers());
        assertEquals(200, claim.status());
        assertEquals(new OnceTest.Order("o", 1),
            JsonCodec.of(OnceTest.Order.class).decode(claim.body()));
        assertEquals("{\"id", new String(claim.body(), StandardCharsets.UTF_8).substring(0, 4));
    }
}
