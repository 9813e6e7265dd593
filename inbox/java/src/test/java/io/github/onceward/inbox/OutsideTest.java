package io.github.onceward.inbox;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import javax.sql.DataSource;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Once.outside(): effects in other systems. */
class OutsideTest {
    private static final OnceOptions<String> OPTIONS =
        OnceOptions.of(Codec.text()).pause(Duration.ofMillis(1));

    private final List<UUID> calls = new CopyOnWriteArrayList<>();
    private String operation;
    private Inbox inbox;
    private final Key key = Key.of("k");

    @BeforeAll
    static void prepare() throws SQLException {
        Database.prepare();
    }

    @BeforeEach
    void begin() {
        operation = Database.operation();
        inbox = Inbox.of(operation).ledger("java_leases");
    }

    private String charge(UUID downstreamKey) {
        calls.add(downstreamKey);
        return "charge " + calls.size();
    }

    private String call(DataSource source) throws SQLException {
        return Once.outside(source, inbox, key, OPTIONS, this::charge);
    }

    @Test
    void aDuplicateGetsTheStoredValue() throws SQLException {
        assertEquals("charge 1", call(Database.source()));
        assertEquals("charge 1", call(Database.source()));
        assertEquals(1, calls.size());
        assertEquals(5, calls.get(0).version());
    }

    @Test
    void failedIsStored() {
        for (int i = 0; i < 2; ++i) {
            var failed = assertThrows(InboxException.Failed.class, () ->
                Once.outside(Database.source(), inbox, key, OPTIONS, downstreamKey -> {
                    charge(downstreamKey);
                    throw new InboxException.Failed(402, "declined");
                }));
            assertEquals(402, failed.status());
            assertEquals("declined", new String(failed.body()));
        }
        assertEquals(1, calls.size());
    }

    @Test
    void aFailureWithoutItsResultIsStillAFailure() throws SQLException {
        Database.run("SELECT onceward.register_ledger('java_leases_bare', 'lease', "
            + "stores_results => false)");
        inbox = inbox.ledger("java_leases_bare");
        for (String body : List.of("declined", "")) {
            var failed = assertThrows(InboxException.Failed.class, () ->
                Once.outside(Database.source(), inbox, key, OPTIONS, downstreamKey -> {
                    charge(downstreamKey);
                    throw new InboxException.Failed(402, "declined");
                }));
            assertEquals(402, failed.status());
            assertEquals(body, new String(failed.body()));
        }
        assertEquals(1, calls.size());
    }

    private void breakOff(OnceOptions<String> options) {
        assertThrows(IOException.class, () ->
            Once.outside(Database.source(), inbox, key, options, downstreamKey -> {
                charge(downstreamKey);
                throw new IOException("no answer");
            }));
    }

    @Test
    void anExceptionLeavesTheLeaseAndTheCallIsMadeAgain() throws Exception {
        breakOff(OPTIONS.hold(Duration.ofSeconds(2)));
        var inFlight = assertThrows(InboxException.InFlight.class, () -> call(Database.source()));
        assertTrue(inFlight.remaining().compareTo(Duration.ZERO) > 0);
        assertTrue(inFlight.remaining().compareTo(Duration.ofSeconds(2)) <= 0);
        Thread.sleep(2100);
        assertEquals("charge 2", call(Database.source()));
        assertEquals(calls.get(0), calls.get(1));
    }

    @Test
    void aCallIsNotMadeAgainWhereKeysAreNotHonoured() throws Exception {
        OnceOptions<String> options = OPTIONS.hold(Duration.ofMillis(50)).honoursKey(false);
        breakOff(options);
        Thread.sleep(100);
        assertThrows(InboxException.OutcomeUnknown.class, () ->
            Once.outside(Database.source(), inbox, key, options, this::charge));
        assertEquals(1, calls.size());
    }

    @Test
    void aLeaseIsExtendedWhileTheCallRuns() throws Exception {
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch end = new CountDownLatch(1);
        var first = CompletableFuture.supplyAsync(() -> {
            try {
                return Once.outside(Database.source(), inbox, key,
                    OPTIONS.hold(Duration.ofSeconds(2)), downstreamKey -> {
                        begun.countDown();
                        end.await();
                        return charge(downstreamKey);
                    });
            } catch (Exception error) {
                throw new IllegalStateException(error);
            }
        });
        begun.await();
        Thread.sleep(4000);
        assertThrows(InboxException.InFlight.class, () -> call(Database.source()));
        var second = CompletableFuture.supplyAsync(() -> {
            try {
                return Once.outside(Database.source(), inbox, key,
                    OPTIONS.waitFor(Duration.ofSeconds(60)), this::charge);
            } catch (SQLException error) {
                throw new IllegalStateException(error);
            }
        });
        end.countDown();
        assertEquals("charge 1", first.get());
        assertEquals("charge 1", second.get()); // it waited
        assertEquals(1, calls.size());
    }

    @Test
    void commitsWithoutAnAnswer() throws Exception {
        // The first COMMIT is the lease's, and the second, or third, is its end's.
        for (boolean happened : new boolean[] {true, false}) {
            for (int skip = 0; skip < 2; ++skip) {
                begin();
                calls.clear();
                try (CuttingProxy proxy =
                        new CuttingProxy(Database.source(), skip, 1, happened)) {
                    assertEquals("charge 1", call(proxy.source()));
                    assertTrue(proxy.left() <= 0, "nothing was cut");
                }
                assertEquals("charge 1", call(Database.source()));
                assertEquals(1, calls.size());
            }
        }
    }

    @Test
    void anEndThatComesTooLateIsRefused() {
        assertThrows(InboxException.LeaseLost.class, () ->
            Once.outside(Database.source(), inbox, key, OPTIONS, downstreamKey -> {
                // This is what another process does that takes the lease over.
                Database.run("UPDATE onceward.leases SET owner_token = gen_random_uuid() WHERE "
                    + "digest = onceward.key_digest('" + operation + "', '', 'id', 'k')");
                return charge(downstreamKey);
            }));
    }
}
