package io.github.onceward.inbox;

import java.sql.Array;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * A description of keys: what is done with them, where they come from, whose they are, and which
 * ledger keeps them. Immutable; it holds no connection, and any number of threads may use it.
 *
 * <p>All calls run in the transaction of the caller's connection and never end it. They throw an
 * {@link InboxException} for what the inbox refuses, and else the driver's own SQLException. After
 * either, the transaction has to roll back.
 */
public final class Inbox {
    /** The version of the SQL functions that this package was written for. */
    public static final int VERSION = 1;

    // An answer. Its headers become names and values in turn, so that no JSON has to be read here.
    private static final String ANSWER = "a.*, CASE WHEN a.headers <> '[]' THEN ARRAY("
        + "SELECT unnest(ARRAY[h ->> 'name', h ->> 'value']) FROM jsonb_array_elements(a.headers) "
        + "AS h) END AS pairs FROM ";
    private static final String RESULT = "(digest => ?, attempt => ?, status => ?, body => ?, "
        + "failed => ?, tenant => ?, ledger => ?, headers => coalesce((SELECT jsonb_agg("
        + "jsonb_build_object('name', h.name, 'value', h.value) ORDER BY h.place) "
        + "FROM unnest(?::text[], ?::text[]) WITH ORDINALITY AS h (name, value, place)), '[]'))";

    private final String operation;
    private final String kind;
    private final String tenant;
    private final String ledger;
    private final String schema;
    private final AtomicBoolean checked; // whether the version of the functions was compared

    private Inbox(String operation, String kind, String tenant, String ledger, String schema,
            AtomicBoolean checked) {
        this.operation = name(operation, "the operation");
        this.kind = name(kind, "the kind");
        this.tenant = text(tenant, "the tenant");
        this.ledger = ledger == null ? null : text(ledger, "the ledger");
        this.schema = text(schema, "the schema");
        this.checked = checked;
    }

    private static String text(String value, String what) {
        Key.utf8(value, what);
        if (value.indexOf('\0') >= 0) {
            throw new InboxException.Argument(what + " has a NUL");
        }
        return value;
    }

    private static String name(String value, String what) {
        if (text(value, what).isEmpty()) {
            throw new InboxException.Argument(what + " is missing");
        }
        return value;
    }

    /**
     * Keys of an operation, such as "pay". Their kind is "id", they have no tenant, and their
     * ledger is "inbox" for claims and "inbox_leases" for leases.
     */
    public static Inbox of(String operation) {
        return new Inbox(operation, "id", "", null, "onceward", new AtomicBoolean());
    }

    /** The same for keys of another kind, such as "order". */
    public Inbox kind(String kind) {
        return new Inbox(operation, kind, tenant, ledger, schema, checked);
    }

    /** The same for the keys of a tenant. */
    public Inbox tenant(String tenant) {
        return new Inbox(operation, kind, tenant, ledger, schema, checked);
    }

    /** The same in another ledger; null or empty is that of {@link #of}. */
    public Inbox ledger(String ledger) {
        return new Inbox(operation, kind, tenant, ledger, schema, checked);
    }

    /** The same in another schema. */
    public Inbox schema(String schema) {
        return new Inbox(operation, kind, tenant, ledger, schema, new AtomicBoolean());
    }

    /** Claims a key, for an attempt of its own. */
    public Claim claim(Connection tx, Key key) throws SQLException {
        return claim(tx, key, UUID.randomUUID());
    }

    /**
     * Claims a key. If the claim is fresh, the effect and {@link #finish} follow in the same
     * transaction. Give all tries of one request the same attempt: it tells its own stored result
     * from another's after a COMMIT without an answer.
     */
    public Claim claim(Connection tx, Key key, UUID attempt) throws SQLException {
        need(key, "a key");
        return one(tx, "SELECT " + ANSWER + "%s.claim(?, ?, ?, ?, ?, ?, ?, ?::timestamptz) AS a",
            Inbox::claimOf, operation, tenant, kind, key.bytes(), key.fingerprint(), attempt,
            ledgerOr("inbox"), key.minted());
    }

    /** Stores the empty result of a fresh claim. */
    public void finish(Connection tx, Claim claim) throws SQLException {
        finish(tx, claim, Result.EMPTY);
    }

    /** Stores the result of a fresh claim of this transaction. */
    public void finish(Connection tx, Claim claim, Result result) throws SQLException {
        need(claim, "a claim");
        store(tx, "finish", row -> null, claim.digest(), claim.attempt(), result, "inbox");
    }

    /** Claims many keys, for an attempt of their own. Returns bodies up to 1 MiB in all. */
    public List<Claim> claimMany(Connection tx, List<Key> keys) throws SQLException {
        return claimMany(tx, keys, UUID.randomUUID(), 1 << 20);
    }

    /**
     * Claims up to 10,000 keys in one round trip, and returns the claims in the order of the keys.
     * A key that comes twice is fresh once. Call it before the transaction locks rows of its own:
     * keys are claimed in the order of their digests, and older locks are in another order.
     *
     * @param maxBytes bodies beyond it, in all, are null
     */
    public List<Claim> claimMany(Connection tx, List<Key> keys, UUID attempt, long maxBytes)
            throws SQLException {
        need(keys, "a list of keys");
        keys.forEach(key -> need(key, "each key"));
        return call(tx, "SELECT " + ANSWER + "(SELECT m.place, (m.answer).* FROM %s.claim_many("
            + "?, ?, ?, ?, ?, ?, ?, ?, ?) AS m) AS a ORDER BY a.place", Inbox::claimOf, operation,
            tenant, kind, array(tx, "bytea", keys.stream().map(Key::bytes).toArray(byte[][]::new)),
            given(tx, "uuid", keys, Key::fingerprint), attempt, ledgerOr("inbox"),
            given(tx, "timestamptz", keys, Key::minted), maxBytes);
    }

    /** Stores a status for those of the claims that are fresh. They are of one claimMany(). */
    public void finishMany(Connection tx, List<Claim> claims, int status) throws SQLException {
        need(claims, "a list of claims");
        List<Claim> fresh = claims.stream().filter(Claim::fresh).toList();
        if (fresh.isEmpty()) {
            return;
        }
        UUID attempt = fresh.get(0).attempt();
        if (fresh.stream().anyMatch(claim -> !attempt.equals(claim.attempt()))) {
            throw new InboxException.Argument("the claims are of several attempts");
        }
        call(tx, "SELECT %s.finish_many(?, ?, ?, ?, ?)", row -> null,
            array(tx, "uuid", fresh.stream().map(Claim::digest).toArray()), attempt, status,
            tenant, ledgerOr("inbox"));
    }

    /**
     * Takes a lease of a key, for an effect outside this database. If it is fresh, commit, make the
     * call with the downstream key, and end the lease.
     *
     * @param hold from a millisecond to a day
     * @param honoursKey whether the other system makes a call once for each downstream key; if not,
     *     a lease that ran out is answered as unknown and is not taken over
     */
    public Lease lease(Connection tx, Key key, UUID attempt, Duration hold, boolean honoursKey)
            throws SQLException {
        need(key, "a key");
        return one(tx, "SELECT (extract(epoch FROM a.remaining) * 1000)::bigint AS milliseconds, "
            + ANSWER + "%s.lease(?, ?, ?, ?, ?, ?, ?, ?::float8 * interval '1 ms', ?, "
            + "?::timestamptz) AS a", Inbox::leaseOf, operation, tenant, kind, key.bytes(),
            key.fingerprint(), attempt, ledgerOr("inbox_leases"), millis(hold), honoursKey,
            key.minted());
    }

    /** Stores how the call of a lease ended. Returns false if somebody took the lease over. */
    public boolean endLease(Connection tx, Lease lease, Result result) throws SQLException {
        need(lease, "a lease");
        return store(tx, "end_lease", Inbox::flag, lease.digest(), lease.attempt(), result,
            "inbox_leases");
    }

    /** Holds a lease from now on for `hold`. Returns false if it is no longer the caller's. */
    public boolean extendLease(Connection tx, Lease lease, Duration hold) throws SQLException {
        need(lease, "a lease");
        return one(tx, "SELECT %s.extend_lease(?, ?, ?::float8 * interval '1 ms', ?)", Inbox::flag,
            lease.digest(), lease.attempt(), millis(hold), ledgerOr("inbox_leases"));
    }

    /** Gives a lease back whose call certainly did not happen. Returns false if it was lost. */
    public boolean releaseLease(Connection tx, Lease lease) throws SQLException {
        need(lease, "a lease");
        return one(tx, "SELECT %s.release_lease(?, ?, ?)", Inbox::flag, lease.digest(),
            lease.attempt(), ledgerOr("inbox_leases"));
    }

    private <T> T store(Connection tx, String function, Reader<T> reader, UUID digest,
            UUID attempt, Result result, String unnamed) throws SQLException {
        need(result, "a result");
        return one(tx, "SELECT %s." + function + RESULT, reader, digest, attempt, result.status(),
            result.body(), result.failed(), tenant, ledgerOr(unnamed),
            array(tx, "text", result.headers().stream().map(Header::name).toArray()),
            array(tx, "text", result.headers().stream().map(Header::value).toArray()));
    }

    private interface Reader<T> {
        T read(ResultSet row) throws SQLException;
    }

    private <T> T one(Connection tx, String sql, Reader<T> reader, Object... arguments)
            throws SQLException {
        return call(tx, sql, reader, arguments).get(0);
    }

    /** Calls a function of the schema, and reads each row of its answer. */
    private <T> List<T> call(Connection tx, String sql, Reader<T> reader, Object... arguments)
            throws SQLException {
        need(tx, "a connection");
        if (tx.getAutoCommit()) {
            throw new InboxException.Argument("the connection commits each statement by itself; "
                + "claims need a transaction: setAutoCommit(false)");
        }
        try {
            if (!checked.get()) {
                compareVersion(tx);
            }
            return query(tx, sql, reader, arguments);
        } catch (SQLException error) {
            throw InboxException.translated(error);
        }
    }

    private <T> List<T> query(Connection tx, String sql, Reader<T> reader, Object... arguments)
            throws SQLException {
        String quoted = '"' + schema.replace("\"", "\"\"") + '"';
        try (PreparedStatement statement = tx.prepareStatement(sql.replace("%s", quoted))) {
            for (int i = 0; i < arguments.length; ++i) {
                statement.setObject(i + 1, arguments[i]);
            }
            List<T> answers = new ArrayList<>();
            try (ResultSet rows = statement.executeQuery()) {
                while (rows.next()) {
                    answers.add(reader.read(rows));
                }
            }
            return answers;
        }
    }

    private void compareVersion(Connection tx) throws SQLException {
        int found;
        try {
            found = query(tx, "SELECT %s.inbox_version()", row -> row.getInt(1)).get(0);
        } catch (SQLException error) {
            // There is no such function, or no such schema.
            if ("42883".equals(error.getSQLState()) || "3F000".equals(error.getSQLState())) {
                throw new InboxException.Version(schema, 0, error);
            }
            throw error;
        }
        if (found != VERSION) {
            throw new InboxException.Version(schema, found, null);
        }
        checked.set(true);
    }

    static void need(Object value, String what) {
        if (value == null) {
            throw new InboxException.Argument(what + " is needed, not null");
        }
    }

    private String ledgerOr(String unnamed) {
        return ledger == null || ledger.isEmpty() ? unnamed : ledger;
    }

    private static long millis(Duration hold) {
        need(hold, "a time to hold the lease");
        return hold.toMillis();
    }

    private static Array array(Connection tx, String type, Object[] values) throws SQLException {
        need(tx, "a connection");
        return tx.createArrayOf(type, values);
    }

    /** An array of what the keys came with; null if none has it. */
    private static Array given(Connection tx, String type, List<Key> keys, Function<Key, ?> member)
            throws SQLException {
        Object[] values = keys.stream().map(member).toArray();
        return Stream.of(values).allMatch(Objects::isNull) ? null : array(tx, type, values);
    }

    private static Claim claimOf(ResultSet row) throws SQLException {
        return new Claim(Outcome.of(row.getString("outcome")), uuid(row, "digest"),
            uuid(row, "attempt"), row.getBoolean("mine"), number(row, "status"), headers(row),
            row.getBytes("body"), row.getObject("stored_at", OffsetDateTime.class));
    }

    private static Lease leaseOf(ResultSet row) throws SQLException {
        Long left = row.getObject("milliseconds", Long.class);
        return new Lease(Outcome.of(row.getString("outcome")), uuid(row, "digest"),
            uuid(row, "attempt"), uuid(row, "downstream_key"), number(row, "attempts"),
            row.getBoolean("taken_over"), left == null ? null : Duration.ofMillis(left),
            number(row, "status"), headers(row), row.getBytes("body"),
            row.getObject("ended_at", OffsetDateTime.class));
    }

    private static boolean flag(ResultSet row) throws SQLException {
        return row.getBoolean(1);
    }

    private static UUID uuid(ResultSet row, String column) throws SQLException {
        return row.getObject(column, UUID.class);
    }

    private static Integer number(ResultSet row, String column) throws SQLException {
        return row.getObject(column, Integer.class);
    }

    private static List<Header> headers(ResultSet row) throws SQLException {
        Array pairs = row.getArray("pairs");
        String[] words = pairs == null ? new String[0] : (String[]) pairs.getArray();
        List<Header> headers = new ArrayList<>();
        for (int i = 0; i < words.length; i += 2) {
            if (words[i] != null && words[i + 1] != null) { // SQL alone can store others
                headers.add(new Header(words[i], words[i + 1]));
            }
        }
        return List.copyOf(headers);
    }
}
