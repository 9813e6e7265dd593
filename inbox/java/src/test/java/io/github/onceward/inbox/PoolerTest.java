package io.github.onceward.inbox;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.postgresql.ds.PGSimpleDataSource;

/** Through PgBouncer in transaction mode: a transaction may be in another session than the last. */
class PoolerTest {
    @BeforeAll
    static void prepare() throws SQLException {
        Database.prepare();
    }

    private static Connection connect() throws SQLException {
        PGSimpleDataSource source = Database.source("ONCEWARD_TEST_POOLER_DSN");
        // What the README asks for: no statement is prepared in a session.
        source.setPrepareThreshold(0);
        Connection made = source.getConnection();
        made.setAutoCommit(false);
        return made;
    }

    /** Every call of the inbox, in several transactions. */
    private static void allCalls(Connection tx) throws SQLException {
        Inbox inbox = Inbox.of(Database.operation()).ledger("java");
        Claim claim = inbox.claim(tx, Key.of("k"));
        assertTrue(claim.fresh());
        inbox.finish(tx, claim, Result.of("done".getBytes()));
        tx.commit();
        Claim again = inbox.claim(tx, Key.of("k"), claim.attempt());
        assertEquals(Outcome.DUPLICATE, again.outcome());
        assertTrue(again.mine());
        assertArrayEquals("done".getBytes(), again.body());
        tx.commit();
        List<Claim> many = inbox.claimMany(tx, List.of(Key.of("k"), Key.of("k 2"), Key.of("k 3")));
        assertEquals(List.of(Outcome.DUPLICATE, Outcome.FRESH, Outcome.FRESH),
            many.stream().map(Claim::outcome).toList());
        inbox.finishMany(tx, many, 0);
        tx.commit();
        Inbox leases = inbox.ledger("java_leases");
        Lease lease =
            leases.lease(tx, Key.of("k"), UUID.randomUUID(), Duration.ofMinutes(1), true);
        tx.commit();
        assertTrue(lease.fresh());
        assertTrue(leases.extendLease(tx, lease, Duration.ofMinutes(1)));
        tx.commit();
        assertTrue(leases.endLease(tx, lease, Result.of("sent".getBytes())));
        tx.commit();
    }

    @Test
    void everyCallWorksInAnySession() throws SQLException {
        Set<Integer> pids = new HashSet<>();
        try (Connection tx = connect(); Connection other = connect()) {
            for (int round = 0; round < 4; ++round) {
                if (round % 2 == 1) {
                    // Holds the session that PgBouncer would give next.
                    other.createStatement().execute("SELECT 1");
                }
                allCalls(tx);
                var rows = tx.createStatement().executeQuery("""
                    SELECT pg_backend_pid(), current_setting('lock_timeout'),
                        current_setting('idle_in_transaction_session_timeout'),
                        current_setting('synchronous_commit')""");
                assertTrue(rows.next());
                pids.add(rows.getInt(1));
                assertEquals(List.of("0", "0", "on"),
                    List.of(rows.getString(2), rows.getString(3), rows.getString(4)));
                tx.rollback();
                other.rollback();
            }
        }
        assertEquals(2, pids.size());
    }
}
