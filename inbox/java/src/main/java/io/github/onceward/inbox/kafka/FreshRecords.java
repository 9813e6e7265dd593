package io.github.onceward.inbox.kafka;

import io.github.onceward.inbox.Claim;
import io.github.onceward.inbox.Inbox;
import io.github.onceward.inbox.InboxException;
import io.github.onceward.inbox.Key;
import io.github.onceward.inbox.Transactions;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.function.Function;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.springframework.kafka.KafkaException;
import org.springframework.kafka.listener.BatchMessageListener;
import org.springframework.kafka.listener.DefaultErrorHandler;
import org.springframework.util.backoff.FixedBackOff;

/**
 * Filters the batches of a spring-kafka listener: all keys of a batch are claimed in one round
 * trip, and the work gets the records whose keys are fresh. Claims, work and results are in one
 * transaction, so the batch may come again at any time. Immutable.
 *
 * <p>A batch has at most 10,000 records ({@code max.poll.records}).
 *
 * <p>DANGER: give the container {@link #errorHandler()}. The default handler of spring-kafka tries
 * a failed batch nine times more without a pause. Then it logs "Records discarded" and commits the
 * offsets: if PostgreSQL is away for a moment, the batch is lost.
 */
public final class FreshRecords<K, V> {
    /** What is done with the fresh records of a batch, in the batch's transaction. */
    @FunctionalInterface
    public interface Work<K, V, E extends Exception> {
        void run(Connection tx, List<ConsumerRecord<K, V>> fresh) throws SQLException, E;
    }

    /** What becomes of a record whose key is refused, such as a row of a table of dead letters. */
    @FunctionalInterface
    public interface Refusal<K, V> {
        /**
         * @param claim whose outcome is CONFLICT or EXPIRED; null if the record has no usable key
         * @param unusable says why the record has no usable key; null if there is a claim
         */
        void refused(Connection tx, ConsumerRecord<K, V> record, Claim claim,
            InboxException.Argument unusable) throws SQLException;
    }

    private record Keyless<K, V>(ConsumerRecord<K, V> record, InboxException.Argument reason) {}

    private final Inbox inbox;
    private final Function<ConsumerRecord<K, V>, Key> key;
    private final boolean storesResults;
    private final Refusal<K, V> refusal;

    private FreshRecords(Inbox inbox, Function<ConsumerRecord<K, V>, Key> key,
            boolean storesResults, Refusal<K, V> refusal) {
        this.inbox = inbox;
        this.key = key;
        this.storesResults = storesResults;
        this.refusal = refusal;
    }

    /**
     * A filter by the key of each record. A record that is refused fails its whole batch.
     *
     * @param key may throw an InboxException.Argument or a NoSuchElementException, as an Optional
     *     without a value does, for a record that has no usable key. Anything else that it throws
     *     is an error of the program, and passes on.
     */
    public static <K, V> FreshRecords<K, V> of(Inbox inbox,
            Function<ConsumerRecord<K, V>, Key> key) {
        return new FreshRecords<>(inbox, key, true, (tx, record, claim, unusable) -> {
            throw new IllegalStateException("the key of the record at " + record.topic() + "-"
                + record.partition() + "@" + record.offset() + " is refused: "
                + (claim == null ? unusable.getMessage() : claim.outcome()), unusable);
        });
    }

    /** The same, for a ledger that stores no results. */
    public FreshRecords<K, V> withoutResults() {
        return new FreshRecords<>(inbox, key, false, refusal);
    }

    /**
     * The same, with what becomes of records whose keys are in conflict, expired or not usable.
     * Without it such a record stops its partition, with {@link #errorHandler()}.
     */
    public FreshRecords<K, V> onRefusal(Refusal<K, V> other) {
        return new FreshRecords<>(inbox, key, storesResults, other);
    }

    /**
     * Claims the keys of a batch, runs the work with the fresh records if there are any, and
     * finishes them. Call it before the transaction locks rows of its own.
     */
    public <E extends Exception> void process(Connection tx, List<ConsumerRecord<K, V>> batch,
            Work<K, V, E> work) throws SQLException, E {
        List<ConsumerRecord<K, V>> keyed = new ArrayList<>(batch.size());
        List<Keyless<K, V>> keyless = new ArrayList<>();
        List<Key> keys = new ArrayList<>(batch.size());
        DatabaseClock clock = new DatabaseClock(tx);
        for (ConsumerRecord<K, V> record : batch) {
            try {
                keys.add(keyOf(record, clock));
                keyed.add(record);
            } catch (InboxException.Argument error) {
                keyless.add(new Keyless<>(record, error));
            }
        }
        // Before any refusal, which may lock rows of its own.
        List<Claim> claims = inbox.claimMany(tx, keys);
        for (Keyless<K, V> one : keyless) {
            refusal.refused(tx, one.record(), null, one.reason());
        }
        List<ConsumerRecord<K, V>> fresh = new ArrayList<>(keyed.size());
        for (int i = 0; i < keyed.size(); ++i) {
            switch (claims.get(i).outcome()) {
                case FRESH -> fresh.add(keyed.get(i));
                // It took effect before, with or without a result that is kept.
                case DUPLICATE, FAILED, UNKNOWN -> { }
                default -> refusal.refused(tx, keyed.get(i), claims.get(i), null);
            }
        }
        if (fresh.isEmpty()) {
            return;
        }
        work.run(tx, fresh);
        if (storesResults) {
            inbox.finishMany(tx, claims, 0);
        }
    }

    /** The key of a record. Throws an InboxException.Argument if the database would not take it. */
    private Key keyOf(ConsumerRecord<K, V> record, DatabaseClock clock) throws SQLException {
        Key made;
        try {
            made = key.apply(record);
        } catch (NoSuchElementException error) {
            throw new InboxException.Argument(
                "the key's function found no value: " + error.getMessage(), error);
        }
        if (made == null) {
            throw new InboxException.Argument("the key's function returned null");
        }
        if (!made.isValid()) {
            throw new InboxException.Argument("a key has 1 to 255 bytes, none of which is 0");
        }
        if (made.mintedAt() != null && clock.isBefore(made.mintedAt())) {
            throw new InboxException.Argument(
                "the key was minted at " + made.mintedAt() + ", in the future");
        }
        return made;
    }

    /**
     * Decides which times are in the future. claim_many() refuses the whole batch for one such key.
     *
     * <p>DANGER: the database decides, which is asked at most once in a batch. If this machine's
     * clock were late, the keys of now would be refused for good. A key that passes here may still
     * be too early for claim_many(), if the clock is fast or the ledger's retention is less than
     * four minutes. Its batch is delivered again until the key's time has come.
     */
    private static final class DatabaseClock {
        /** How far clocks may differ, as clock_skew() of the schema has it. */
        private static final Duration SKEW = Duration.ofSeconds(60);

        private final Connection tx;
        private final Instant own = Instant.now();
        private Instant latest;

        DatabaseClock(Connection tx) {
            this.tx = tx;
        }

        boolean isBefore(Instant minted) throws SQLException {
            if (!minted.isAfter(own)) {
                return false;
            }
            if (latest == null) {
                try (PreparedStatement statement = tx.prepareStatement("SELECT clock_timestamp()");
                        ResultSet row = statement.executeQuery()) {
                    row.next();
                    latest = row.getObject(1, OffsetDateTime.class).toInstant().plus(SKEW);
                }
            }
            return minted.isAfter(latest);
        }
    }

    /**
     * A batch listener with a transaction for each batch. If the transaction fails, or its COMMIT
     * has no answer, the container delivers the batch again, and the claims tell what happened. The
     * container needs {@link #errorHandler()} for that.
     */
    public BatchMessageListener<K, V> listener(Transactions transactions,
            Work<K, V, RuntimeException> work) {
        return batch -> {
            try {
                transactions.run(tx -> {
                    process(tx, batch, work);
                    return null;
                });
            } catch (SQLException error) {
                throw new KafkaException("the batch's transaction failed", error);
            }
        };
    }

    /**
     * The error handler of a container: it delivers a batch that failed again, whole, each second
     * until it succeeds. No error discards a batch. A record that always fails stops its partition;
     * give such a record to {@link #onRefusal}, or to a table of dead letters in the work.
     */
    public static DefaultErrorHandler errorHandler() {
        var handler = new DefaultErrorHandler(
            new FixedBackOff(1000, FixedBackOff.UNLIMITED_ATTEMPTS));
        // The default gives up at once after some classes, such as ClassCastException.
        handler.setClassifications(Map.of(), true);
        return handler;
    }
}
