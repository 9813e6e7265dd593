package io.github.onceward.inbox.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.onceward.inbox.CuttingProxy;
import io.github.onceward.inbox.Database;
import io.github.onceward.inbox.Inbox;
import io.github.onceward.inbox.InboxException;
import io.github.onceward.inbox.Key;
import io.github.onceward.inbox.Transactions;
import io.github.onceward.inbox.Uuid7;
import io.github.onceward.inbox.Work;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.MockConsumer;
import org.apache.kafka.clients.consumer.OffsetResetStrategy;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.kafka.core.DefaultKafkaConsumerFactory;
import org.springframework.kafka.listener.ContainerProperties;
import org.springframework.kafka.listener.KafkaMessageListenerContainer;
import org.springframework.kafka.support.TopicPartitionOffset;

class FreshRecordsTest {
    private static final String TOPIC = "java";

    private String operation;
    private FreshRecords<String, String> filter;
    private final List<String> seen = new CopyOnWriteArrayList<>();

    @BeforeEach
    void begin() throws SQLException {
        Database.prepare();
        operation = Database.operation();
        filter = FreshRecords.of(Inbox.of(operation).kind("event").ledger("java"),
            record -> Key.of(record.key()).fingerprint(record.value()));
    }

    private static List<ConsumerRecord<String, String>> batch(String... keys) {
        return Stream.iterate(0, i -> i < keys.length, i -> i + 1)
            .map(i -> new ConsumerRecord<>(TOPIC, 0, i, keys[i], "v")).toList();
    }

    private void insert(Connection tx, List<ConsumerRecord<String, String>> fresh)
            throws SQLException {
        for (ConsumerRecord<String, String> one : fresh) {
            seen.add(one.key());
            Database.effect(tx, operation, one.key());
        }
    }

    private void process(List<ConsumerRecord<String, String>> batch) throws SQLException {
        Transactions.of(Database.source()).run(tx -> {
            filter.process(tx, batch, this::insert);
            return null;
        });
    }

    @Test
    void aKeyTakesEffectOnceOverBatches() throws SQLException {
        process(batch("a", "b", "a"));
        process(batch("b", "c"));
        process(batch("a", "c"));
        process(batch());
        assertEquals(List.of("a", "b", "c"), seen);
        assertEquals(3, Database.effects(operation));
    }

    @Test
    void aBatchThatFailsLeavesNothing() throws SQLException {
        Transactions transactions = Transactions.of(Database.source());
        assertThrows(IllegalStateException.class, () -> transactions.run(tx -> {
            filter.process(tx, batch("a", "b"), (one, fresh) -> {
                insert(one, fresh);
                throw new IllegalStateException();
            });
            return null;
        }));
        assertEquals(0, Database.effects(operation));
        process(batch("a", "b"));
        assertEquals(2, Database.effects(operation));
    }

    @Test
    void aLedgerWithoutResults() throws SQLException {
        filter = FreshRecords.<String, String>of(Inbox.of(operation).ledger("java_bare"),
            record -> Key.of(record.key())).withoutResults();
        process(batch("a", "b"));
        process(batch("b", "c"));
        assertEquals(3, Database.effects(operation));
    }

    @Test
    void aRefusedRecordFailsItsBatchOrGoesElsewhere() throws SQLException {
        process(batch("a"));
        List<ConsumerRecord<String, String>> other = List.of(
            new ConsumerRecord<>(TOPIC, 0, 7, "b", "v"),
            new ConsumerRecord<>(TOPIC, 0, 8, "a", "another value"));
        assertEquals("the key of the record at java-0@8 is refused: CONFLICT",
            assertThrows(IllegalStateException.class, () -> process(other)).getMessage());
        assertEquals(1, Database.effects(operation));
        filter = filter.onRefusal((tx, record, claim, unusable) -> {
            assertNull(unusable);
            Database.effect(tx, operation, "dead: " + claim.outcome());
        });
        process(other);
        assertEquals(3, Database.effects(operation));
        process(batch("a", "b"));
        assertEquals(List.of("a", "b"), seen.stream().distinct().toList());
    }

    @Test
    void aRecordWithoutAUsableKeyIsRefusedAlone() throws SQLException {
        String form = "a key has 1 to 255 bytes, none of which is 0";
        for (String[] one : new String[][] {{null, "a key is missing"}, {"", form},
                {"k".repeat(256), form}, {"a\0b", form},
                {"half: \ud83d", "a key is not valid Unicode"}}) {
            var error = assertThrows(IllegalStateException.class,
                () -> process(batch("a", one[0])));
            assertEquals("the key of the record at java-0@1 is refused: " + one[1],
                error.getMessage());
            assertInstanceOf(InboxException.Argument.class, error.getCause());
        }
        assertEquals(0, Database.effects(operation));
        List<Long> dead = new ArrayList<>();
        filter = filter.onRefusal((tx, record, claim, unusable) -> {
            assertNull(claim);
            assertNotNull(unusable);
            dead.add(record.offset());
        });
        process(batch("a", null, "", "k".repeat(256), "b"));
        assertEquals(List.of(1L, 2L, 3L), dead);
        assertEquals(List.of("a", "b"), seen);
        process(batch((String) null));
        assertEquals(2, Database.effects(operation));
    }

    @Test
    void whatTheFunctionOfAKeyThrows() throws SQLException {
        List<String> reasons = new ArrayList<>();
        filter = FreshRecords.<String, String>of(Inbox.of(operation).ledger("java"),
            record -> switch (record.key()) {
                case "argument" -> throw new InboxException.Argument("the record has no order");
                case "nothing" -> Key.of(Optional.<String>empty().orElseThrow());
                case "null" -> null;
                case "defect" -> throw new IllegalArgumentException("a defect");
                default -> Key.of(record.key());
            }).onRefusal((tx, record, claim, unusable) ->
                reasons.add(record.offset() + ": " + unusable.getMessage()));
        process(batch("a", "argument", "nothing", "null", "b"));
        assertEquals(List.of("1: the record has no order",
            "2: the key's function found no value: No value present",
            "3: the key's function returned null"), reasons);
        assertEquals(List.of("a", "b"), seen);
        // A defect of the program is no property of the record.
        assertThrows(IllegalArgumentException.class, () -> process(batch("c", "defect")));
        assertEquals(2, Database.effects(operation));
    }

    @Test
    void aKeyOfTheFutureIsRefusedAlone() throws SQLException {
        filter = FreshRecords.of(Inbox.of(operation).ledger("java"),
            record -> Key.of(record.key()).mintedAt(Uuid7.mintedAt(record.key()).orElseThrow(
                () -> new InboxException.Argument("the key has no time"))));
        String first = Uuid7.next().toString();
        String last = Uuid7.next().toString();
        // Of the years 3084 and 10332.
        var batch = batch(first, "1fffffff-ffff-7fff-bfff-ffffffffffff",
            "f0000000-0000-7000-8000-000000000000", "order-17", last);
        String message = assertThrows(IllegalStateException.class, () -> process(batch))
            .getMessage();
        assertTrue(message.startsWith("the key of the record at java-0@1 is refused: the key was "
            + "minted at 3084-"), message);
        assertEquals(0, Database.effects(operation));
        List<Long> dead = new ArrayList<>();
        filter = filter.onRefusal((tx, record, claim, unusable) -> dead.add(record.offset()));
        process(batch);
        process(batch);
        assertEquals(List.of(1L, 2L, 3L, 1L, 2L, 3L), dead);
        assertEquals(List.of(first, last), seen);
        assertEquals(2, Database.effects(operation));
    }

    @Test
    void aKeyMayBeUpToAMinuteEarly() throws SQLException {
        Instant now = Instant.now();
        List<String> dead = new ArrayList<>();
        filter = FreshRecords.<String, String>of(Inbox.of(operation).ledger("java"),
            record -> Key.of(record.key())
                .mintedAt(now.plusSeconds(Long.parseLong(record.key()))))
            .onRefusal((tx, record, claim, unusable) -> dead.add(record.key()));
        process(batch("-30", "30", "600"));
        assertEquals(List.of("-30", "30"), seen);
        assertEquals(List.of("600"), dead);
    }

    @Test
    void aKeyWithoutItsResultIsADuplicate() throws SQLException {
        process(batch("a"));
        // The claim stays, and its result is no longer stored.
        Database.run("DO $$ DECLARE one text; BEGIN FOR one IN SELECT c.relname FROM pg_class c "
            + "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'onceward' "
            + "AND c.relkind = 'r' AND c.relname ~ ('^results_' || (SELECT ledger FROM "
            + "onceward.ledgers WHERE name = 'java') || '_[0-9]+$') LOOP EXECUTE format('DELETE "
            + "FROM onceward.%I WHERE digest = onceward.key_digest(%L, '''', ''event'', "
            + "''a''::text)', one, '" + operation + "'); END LOOP; END $$");
        process(batch("a", "b"));
        assertEquals(List.of("a", "b"), seen);
    }

    /** A container of spring-kafka reads `batch` from a consumer that needs no broker. */
    @SuppressWarnings("deprecation") // Kafka 4 has another constructor, Kafka 3 this one alone
    private MockConsumer<String, String> consume(Transactions transactions,
            List<ConsumerRecord<String, String>> batch, BooleanSupplier until) throws Exception {
        TopicPartition partition = new TopicPartition(TOPIC, 0);
        MockConsumer<String, String> consumer = new MockConsumer<>(OffsetResetStrategy.EARLIEST);
        consumer.schedulePollTask(() -> {
            consumer.updateBeginningOffsets(Map.of(partition, 0L));
            batch.forEach(consumer::addRecord);
        });
        ContainerProperties properties =
            new ContainerProperties(new TopicPartitionOffset(TOPIC, 0, 0L));
        properties.setMessageListener(filter.listener(transactions, this::insert));
        properties.setGroupId("java");
        properties.setPollTimeout(20);
        var container = new KafkaMessageListenerContainer<>(
            new DefaultKafkaConsumerFactory<String, String>(Map.of("bootstrap.servers", "none:1")) {
                @Override
                protected Consumer<String, String> createRawConsumer(Map<String, Object> all) {
                    return consumer;
                }
            }, properties);
        container.setCommonErrorHandler(FreshRecords.errorHandler());
        container.start();
        for (int i = 0; i < 1500 && !until.getAsBoolean(); ++i) {
            Thread.sleep(20);
        }
        container.stop();
        assertTrue(until.getAsBoolean());
        return consumer;
    }

    @Test
    void aListenerInAContainer() throws Exception {
        var batch = batch("a", "b", "a", "c");
        consume(Transactions.of(Database.source()), batch, () -> seen.size() == 3);
        assertEquals(3, Database.effects(operation));
    }

    @Test
    void aBatchThatFailsForLongIsNotDiscarded() throws Exception {
        AtomicInteger tries = new AtomicInteger();
        Transactions database = Transactions.of(Database.source());
        // The default handler gives up after ten tries, and after a ClassCastException at once.
        Transactions away = new Transactions() {
            @Override
            public <T, E extends Exception> T run(Work<T, E> work) throws SQLException, E {
                int number = tries.incrementAndGet();
                if (number == 1) {
                    throw new ClassCastException("a defect of the work");
                }
                if (number <= 11) {
                    throw new SQLException("the database is away", "08001");
                }
                return database.run(work);
            }
        };
        consume(away, batch("a", "b"), () -> seen.size() == 2);
        assertEquals(12, tries.get());
        assertEquals(2, Database.effects(operation));
    }

    @Test
    void aCommitWithoutAnAnswerIsDeliveredAgain() throws Exception {
        for (boolean happened : new boolean[] {true, false}) {
            begin();
            seen.clear();
            try (CuttingProxy proxy = new CuttingProxy(Database.source(), 0, 1, happened)) {
                consume(Transactions.of(proxy.source()), batch("a", "b"), () -> {
                    try {
                        return proxy.left() <= 0 && Database.effects(operation) == 2;
                    } catch (SQLException error) {
                        throw new IllegalStateException(error);
                    }
                });
            }
            assertEquals(happened ? 2 : 4, seen.size());
            assertEquals(2, Database.effects(operation));
        }
    }
}
