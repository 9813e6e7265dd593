// What a team writes by hand with spring-kafka: rows of five columns into PostgreSQL, each key
// once. `batch`: a batch listener; in one transaction the batch's claims by a JDBC batch, then the
// rows of those keys that were new by another. `inbox`: the same, but Onceward's package claims the
// keys. `single`: a transaction for each message. Four threads, one for each partition.
// lab/bench/peer.h has the variables. It ends when all messages are committed.

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.ObjectReader;
import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.github.onceward.inbox.Claim;
import io.github.onceward.inbox.Inbox;
import io.github.onceward.inbox.Key;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.springframework.jdbc.core.BatchPreparedStatementSetter;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.kafka.core.DefaultKafkaConsumerFactory;
import org.springframework.kafka.listener.BatchMessageListener;
import org.springframework.kafka.listener.ConcurrentMessageListenerContainer;
import org.springframework.kafka.listener.ContainerProperties;
import org.springframework.kafka.listener.MessageListener;
import org.springframework.transaction.support.TransactionTemplate;

public class HandWritten {
    static final int threads = 4;

    record Event(UUID event_id, String account, long amount_minor, String currency,
                 String created_at) {}

    interface Setter {
        void set(PreparedStatement statement, Event event) throws SQLException;
    }

    private final ObjectReader reader =
        new ObjectMapper()
            .configure(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES, false)
            .readerFor(Event.class);
    private final JdbcTemplate jdbc;
    private final TransactionTemplate transaction;
    // Without VALUES: the driver would put several rows into one statement otherwise, and the
    // answer would no longer tell which of them were new.
    private final String claim =
        "INSERT INTO " + peer("CLAIMS") + " SELECT ? ON CONFLICT DO NOTHING";
    private final String row =
        "INSERT INTO " + peer("TABLE") +
        " (event_id, account, amount_minor, currency, created_at) VALUES (?, ?, ?, ?, ?)";
    private final Inbox inbox =
        Inbox.of("count").ledger(peer("GROUP")).schema(peer("SCHEMA"));
    private final AtomicLongArray passed = new AtomicLongArray(1000);  // by partition
    private final AtomicLong left = new AtomicLong(Long.parseLong(peer("MESSAGES")));

    HandWritten() {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl("jdbc:postgresql://" + environment("PGHOST") + ":" +
                          environment("PGPORT") + "/" + environment("PGDATABASE") +
                          "?reWriteBatchedInserts=true");
        config.setUsername(environment("PGUSER"));
        config.setPassword(environment("PGPASSWORD"));
        config.setMaximumPoolSize(threads);
        HikariDataSource source = new HikariDataSource(config);
        jdbc = new JdbcTemplate(source);
        transaction = new TransactionTemplate(new DataSourceTransactionManager(source));
    }

    static String environment(String name) {
        String value = System.getenv(name);
        if (value == null) throw new IllegalStateException(name + " is not set");
        return value;
    }
    static String peer(String name) { return environment("ONCEWARD_PEER_" + name); }

    Event parse(ConsumerRecord<byte[], byte[]> record) {
        try {
            return reader.readValue(record.value());
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    static void setClaim(PreparedStatement statement, Event event) throws SQLException {
        statement.setObject(1, event.event_id());
    }

    static void setRow(PreparedStatement statement, Event event) throws SQLException {
        statement.setObject(1, event.event_id());
        statement.setString(2, event.account());
        statement.setLong(3, event.amount_minor());
        statement.setString(4, event.currency());
        statement.setObject(5, OffsetDateTime.parse(event.created_at()));
    }

    int[] execute(String sql, List<Event> events, Setter setter) {
        return jdbc.batchUpdate(sql, new BatchPreparedStatementSetter() {
            @Override
            public void setValues(PreparedStatement statement, int at) throws SQLException {
                setter.set(statement, events.get(at));
            }
            @Override
            public int getBatchSize() {
                return events.size();
            }
        });
    }

    void onBatch(List<ConsumerRecord<byte[], byte[]>> batch) {
        List<Event> events = new ArrayList<>(batch.size());
        for (ConsumerRecord<byte[], byte[]> record : batch) events.add(parse(record));
        // In one order in all threads: two that wait for a key of each other would be a deadlock.
        events.sort(Comparator.comparing(Event::event_id));
        transaction.executeWithoutResult(status -> {
            int[] claimed = execute(claim, events, HandWritten::setClaim);
            List<Event> fresh = new ArrayList<>(events.size());
            for (int i = 0; i < claimed.length; ++i) {
                if (claimed[i] == 1) fresh.add(events.get(i));
            }
            if (!fresh.isEmpty()) execute(row, fresh, HandWritten::setRow);
        });
        batch.forEach(this::committed);
    }

    void onBatchByInbox(List<ConsumerRecord<byte[], byte[]>> batch) {
        List<Event> events = new ArrayList<>(batch.size());
        for (ConsumerRecord<byte[], byte[]> record : batch) events.add(parse(record));
        List<Key> keys = events.stream().map(event -> Key.of(event.event_id().toString())).toList();
        transaction.executeWithoutResult(status -> {
            List<Claim> claims = jdbc.execute((Connection tx) -> inbox.claimMany(tx, keys));
            List<Event> fresh = new ArrayList<>(events.size());
            for (int i = 0; i < claims.size(); ++i) {
                if (claims.get(i).fresh()) fresh.add(events.get(i));
            }
            if (!fresh.isEmpty()) execute(row, fresh, HandWritten::setRow);
        });
        batch.forEach(this::committed);
    }

    void onMessage(ConsumerRecord<byte[], byte[]> record) {
        Event event = parse(record);
        transaction.executeWithoutResult(status -> {
            if (jdbc.update(claim, statement -> setClaim(statement, event)) == 1) {
                jdbc.update(row, statement -> setRow(statement, event));
            }
        });
        committed(record);
    }

    // By offsets: what a rebalance brings a second time does not count.
    void committed(ConsumerRecord<byte[], byte[]> record) {
        long next = record.offset() + 1;
        long before = passed.getAndAccumulate(record.partition(), next, Math::max);
        if (next > before && left.addAndGet(before - next) == 0) Runtime.getRuntime().halt(0);
    }

    public static void main(String[] arguments) {
        HandWritten consumer = new HandWritten();
        ContainerProperties properties = new ContainerProperties(peer("TOPIC"));
        properties.setGroupId(peer("GROUP"));
        if (arguments[0].equals("batch")) {
            BatchMessageListener<byte[], byte[]> listener = consumer::onBatch;
            properties.setMessageListener(listener);
        } else if (arguments[0].equals("inbox")) {
            consumer.jdbc.queryForObject("SELECT " + peer("SCHEMA")
                + ".register_ledger(?, stores_results => false)", Integer.class, peer("GROUP"));
            BatchMessageListener<byte[], byte[]> listener = consumer::onBatchByInbox;
            properties.setMessageListener(listener);
        } else {
            MessageListener<byte[], byte[]> listener = consumer::onMessage;
            properties.setMessageListener(listener);
        }
        // Offsets are committed after each batch, which is after its transactions.
        properties.setAckMode(ContainerProperties.AckMode.BATCH);
        // The campaign's faults last longer than this; the benchmark leaves the default.
        String session = System.getenv().getOrDefault("ONCEWARD_PEER_SESSION_MS", "45000");
        var container = new ConcurrentMessageListenerContainer<>(
            new DefaultKafkaConsumerFactory<byte[], byte[]>(Map.of(
                "session.timeout.ms", session, "bootstrap.servers", peer("BROKERS"),
                "auto.offset.reset", "earliest", "enable.auto.commit", false,
                "max.poll.records", 5000, "max.partition.fetch.bytes", 8 << 20,
                "key.deserializer", ByteArrayDeserializer.class, "value.deserializer",
                ByteArrayDeserializer.class)),
            properties);
        container.setConcurrency(threads);
        container.start();
    }
}
