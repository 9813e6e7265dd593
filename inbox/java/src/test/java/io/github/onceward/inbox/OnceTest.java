package io.github.onceward.inbox;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.postgresql.ds.PGSimpleDataSource;

/** Once.inside(): effects in the database. */
class OnceTest {
    record Order(String id, long amount) {}

    private static final OnceOptions<Order> OPTIONS =
        OnceOptions.of(JsonCodec.of(Order.class)).pause(Duration.ofMillis(1));

    private final AtomicInteger runs = new AtomicInteger();
    private String operation;
    private Inbox inbox;
    private Key key;

    @BeforeAll
    static void prepare() throws SQLException {
        Database.prepare();
    }

    @BeforeEach
    void begin() {
        operation = Database.operation();
        inbox = Inbox.of(operation).ledger("java");
        key = Key.of("k");
    }

    private Order place(Connection tx) throws SQLException {
        Database.effect(tx, operation, runs.incrementAndGet());
        return new Order("o" + runs.get(), 5);
    }

    private Order call(DataSource source) throws SQLException {
        return Once.inside(source, inbox, key, OPTIONS, this::place);
    }

    @Test
    void aDuplicateGetsTheStoredValue() throws SQLException {
        assertEquals(new Order("o1", 5), call(Database.source()));
        assertEquals(new Order("o1", 5), call(Database.source()));
        assertEquals(1, runs.get());
        assertEquals(1, Database.effects(operation));
    }

    @Test
    void anotherFingerprintIsAConflict() throws SQLException {
        key = key.fingerprint("one");
        call(Database.source());
        key = key.fingerprint("two");
        assertThrows(InboxException.Conflict.class, () -> call(Database.source()));
        assertEquals(1, Database.effects(operation));
    }

    @Test
    void anExceptionRollsBackAndFreesTheKey() throws SQLException {
        IOException broken = new IOException("broken");
        IOException thrown = assertThrows(IOException.class, () ->
            Once.inside(Database.source(), inbox, key, OPTIONS, tx -> {
                place(tx);
                throw broken;
            }));
        assertSame(broken, thrown);
        assertEquals(0, Database.effects(operation));
        call(Database.source());
        assertEquals(1, Database.effects(operation));
    }

    private Order fail(Connection tx) throws SQLException {
        place(tx);
        throw new InboxException.Failed(402, "no funds");
    }

    @Test
    void failedIsStoredWithoutTheEffect() throws SQLException {
        for (int i = 0; i < 2; ++i) {
            var failed = assertThrows(InboxException.Failed.class, () ->
                Once.inside(Database.source(), inbox, key, OPTIONS, this::fail));
            assertEquals(402, failed.status());
            assertEquals("no funds", new String(failed.body()));
        }
        assertEquals(1, runs.get());
        assertEquals(0, Database.effects(operation));
    }

    @Test
    void failedIsStoredOverACommitInDoubt() throws Exception {
        try (CuttingProxy proxy = new CuttingProxy(Database.source(), 0, 1, true)) {
            var failed = assertThrows(InboxException.Failed.class, () ->
                Once.inside(proxy.source(), inbox, key, OPTIONS, this::fail));
            assertEquals(402, failed.status());
            assertTrue(proxy.left() <= 0);
        }
        assertThrows(InboxException.Failed.class, () -> call(Database.source()));
        assertEquals(1, runs.get());
    }

    @Test
    void aCommitWithoutAnAnswerThatHappened() throws Exception {
        try (CuttingProxy proxy = new CuttingProxy(Database.source(), 0, 1, true)) {
            assertEquals(new Order("o1", 5), call(proxy.source()));
            assertTrue(proxy.left() <= 0, "nothing was cut");
        }
        assertEquals(1, runs.get());
        assertEquals(1, Database.effects(operation));
    }

    @Test
    void aCommitWithoutAnAnswerThatDidNotHappen() throws Exception {
        try (CuttingProxy proxy = new CuttingProxy(Database.source(), 0, 1, false)) {
            assertEquals(new Order("o2", 5), call(proxy.source()));
            assertTrue(proxy.left() <= 0, "nothing was cut");
        }
        assertEquals(2, runs.get());
        assertEquals(1, Database.effects(operation));
    }

    @Test
    void triesAreBounded() throws Exception {
        try (CuttingProxy proxy = new CuttingProxy(Database.source(), 0, 99, false)) {
            assertThrows(SQLException.class, () -> call(proxy.source()));
            assertEquals(99 - 5, proxy.left());
        }
        assertEquals(5, runs.get());
        assertEquals(0, Database.effects(operation));
    }

    @Test
    void aSessionThatTheServerEndsIsRepeated() throws SQLException {
        Order order = Once.inside(Database.source(), inbox, key, OPTIONS, tx -> {
            Order made = place(tx);
            if (runs.get() == 1) {
                tx.createStatement().execute("SELECT pg_terminate_backend(pg_backend_pid())");
            }
            return made;
        });
        assertEquals(new Order("o2", 5), order);
        assertEquals(1, Database.effects(operation));
    }

    @Test
    void otherErrorsOfTheDatabaseAreNotRepeated() {
        SQLException thrown = assertThrows(SQLException.class, () ->
            Once.inside(Database.source(), inbox, key, OPTIONS, tx -> {
                place(tx);
                return tx.createStatement().execute("SELECT 1 / 0") ? null : null;
            }));
        assertEquals("22012", thrown.getSQLState());
        assertEquals(1, runs.get());
    }

    @Test
    void manyAtOnceHaveOneEffect() throws Exception {
        Set<Order> answers = new HashSet<>();
        var calls = java.util.stream.IntStream.range(0, 4).mapToObj(i ->
            CompletableFuture.supplyAsync(() -> {
                try {
                    return call(Database.source());
                } catch (SQLException error) {
                    throw new IllegalStateException(error);
                }
            })).toList();
        for (CompletableFuture<Order> one : calls) {
            answers.add(one.get());
        }
        assertEquals(1, answers.size());
        assertEquals(1, Database.effects(operation));
    }

    @Test
    void aKeyThatIsHeldForTooLongIsBusy() throws SQLException {
        PGSimpleDataSource hurried = Database.source();
        hurried.setOptions("-c lock_timeout=50ms");
        try (Connection other = Database.source().getConnection()) {
            other.setAutoCommit(false);
            inbox.claim(other, key);
            var busy = assertThrows(InboxException.Busy.class, () ->
                Once.inside(hurried, inbox, key, OPTIONS.tries(2), this::place));
            assertEquals("55P03", busy.sqlState());
            assertTrue(InboxException.isRetryable(busy));
            other.rollback();
        }
        assertEquals(0, runs.get());
    }

    @Test
    void aLedgerWithoutResultsIsRefused() throws SQLException {
        inbox = inbox.ledger("java_bare");
        assertThrows(InboxException.Ledger.class, () -> call(Database.source()));
        assertEquals(0, Database.effects(operation));
    }

    @Test
    void aResultThatIsTooLargeIsRefused() throws SQLException {
        assertThrows(InboxException.ResultTooLarge.class, () -> Once.inside(Database.source(),
            inbox, key, OnceOptions.of(Codec.bytes()), tx -> {
                place(tx);
                return new byte[100_001];
            }));
        assertEquals(0, Database.effects(operation));
    }

    @Test
    void codecs() throws SQLException {
        for (int i = 0; i < 2; ++i) {
            assertArrayEquals(new byte[] {0, -1}, Once.inside(Database.source(), inbox, Key.of("b"),
                OnceOptions.of(Codec.bytes()), tx -> new byte[] {0, -1}));
            assertEquals("ß", Once.inside(Database.source(), inbox, Key.of("t"),
                OnceOptions.of(Codec.text()), tx -> "ß"));
            assertEquals(null, Once.inside(Database.source(), inbox, Key.of("n"),
                OnceOptions.of(Codec.none()), tx -> null));
            assertEquals(List.of(1, 2), Once.inside(Database.source(), inbox, Key.of("l"),
                OnceOptions.of(JsonCodec.<List<Integer>>of((java.lang.reflect.Type) List.class)),
                tx -> List.of(1, 2)));
        }
    }
}
