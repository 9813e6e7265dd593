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
import java.util.UUID;
import java.util.concurrent.atomic.AtomicBoolean;

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

    // The stored result. Headers become two arrays, so that no JSON has to be read here.
    private static final String STORED = "a.status, CASE WHEN a.headers <> '[]' THEN "
        + "ARRAY(SELECT h ->> 'name' FROM jsonb_array_elements(a.headers) AS h) END, "
        + "CASE WHEN a.headers <> '[]' THEN "
        + "ARRAY(SELECT h ->> 'value' FROM jsonb_array_elements(a.headers) AS h) END, a.body, ";
    private static final String CLAIM = "SELECT a.outcome, a.digest, a.attempt, a.mine, " + STORED
        + "a.stored_at FROM ";
    private static final String HEADERS = ", headers => (SELECT jsonb_agg(jsonb_build_object("
        + "'name', h.name, 'value', h.value) ORDER BY h.place) FROM unnest(?::text[], ?::text[]) "
        + "WITH ORDINALITY AS h (name, value, place))";

    private final String operation;
    private final String kind;
    private final String tenant;
    private final String ledger;
    private final String schema;
    private final AtomicBoolean checked; // whether the version of the functions was compared

    private Inbox(String operation, String kind, String tenant, String ledger, String schema,
            AtomicBoolean checked) {
        this.operation = text(operation, "the operation");
        this.kind = text(kind, "the kind");
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

    /** The same in another ledger. */
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
        return call(tx, CLAIM + "%s.claim(?, ?, ?, ?, ?, ?, ?, ?::timestamptz) AS a", set -> {
            set.texts(operation, tenant, kind).bytes(key.bytes()).uuid(key.fingerprint())
                .uuid(attempt).texts(ledgerOr("inbox"), key.minted());
        }, rows -> {
            rows.next();
            return claimOf(rows);
        });
    }

    /** Stores the empty result of a fresh claim. */
    public void finish(Connection tx, Claim claim) throws SQLException {
        finish(tx, claim, Result.EMPTY);
    }

    /** Stores the result of a fresh claim of this transaction. */
    public void finish(Connection tx, Claim claim, Result result) throws SQLException {
        need(claim, "a claim");
        store(tx, "finish", claim.digest(), claim.attempt(), result, ledgerOr("inbox"));
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
        boolean prints = keys.stream().anyMatch(key -> key.fingerprint() != null);
        boolean times = keys.stream().anyMatch(key -> key.minted() != null);
        return call(tx, CLAIM + "(SELECT m.place, (m.answer).* FROM %s.claim_many(?, ?, ?, ?, ?, "
            + "?, ?, ?, ?) AS m) AS a ORDER BY a.place", set -> {
                set.texts(operation, tenant, kind)
                    .array("bytea", keys.stream().map(Key::bytes).toArray(byte[][]::new))
                    .array("uuid", !prints ? null
                        : keys.stream().map(Key::fingerprint).toArray(UUID[]::new))
                    .uuid(attempt).texts(ledgerOr("inbox"))
                    .array("timestamptz", !times ? null
                        : keys.stream().map(Key::minted).toArray(String[]::new))
                    .number(maxBytes);
            }, rows -> {
                List<Claim> claims = new ArrayList<>(keys.size());
                while (rows.next()) {
                    claims.add(claimOf(rows));
                }
                return claims;
            });
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
        call(tx, "SELECT %s.finish_many(?, ?, ?, ?, ?)", set -> {
            set.array("uuid", fresh.stream().map(Claim::digest).toArray(UUID[]::new)).uuid(attempt)
                .number(status).texts(tenant, ledgerOr("inbox"));
        }, ResultSet::next);
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
        return call(tx, "SELECT a.outcome, a.digest, a.attempt, a.downstream_key, a.attempts, "
            + "a.taken_over, (extract(epoch FROM a.remaining) * 1000)::bigint, " + STORED
            + "a.ended_at FROM %s.lease(?, ?, ?, ?, ?, ?, ?, ?::float8 * interval '1 ms', ?, "
            + "?::timestamptz) AS a", set -> {
                set.texts(operation, tenant, kind).bytes(key.bytes()).uuid(key.fingerprint())
                    .uuid(attempt).texts(ledgerOr("inbox_leases")).time(hold).flag(honoursKey)
                    .texts(key.minted());
            }, rows -> {
                rows.next();
                return new Lease(Outcome.of(rows.getString(1)), uuid(rows, 2), uuid(rows, 3),
                    uuid(rows, 4), number(rows, 5), rows.getBoolean(6),
                    rows.getString(7) == null ? null : Duration.ofMillis(rows.getLong(7)),
                    number(rows, 8), headers(rows, 9), rows.getBytes(11),
                    rows.getObject(12, OffsetDateTime.class));
            });
    }

    /** Stores how the call of a lease ended. Returns false if somebody took the lease over. */
    public boolean endLease(Connection tx, Lease lease, Result result) throws SQLException {
        need(lease, "a lease");
        return store(tx, "end_lease", lease.digest(), lease.attempt(), result,
            ledgerOr("inbox_leases"));
    }

    /** Holds a lease from now on for `hold`. Returns false if it is no longer the caller's. */
    public boolean extendLease(Connection tx, Lease lease, Duration hold) throws SQLException {
        need(lease, "a lease");
        return call(tx, "SELECT %s.extend_lease(?, ?, ?::float8 * interval '1 ms', ?)", set -> {
            set.uuid(lease.digest()).uuid(lease.attempt()).time(hold)
                .texts(ledgerOr("inbox_leases"));
        }, Inbox::flag);
    }

    /** Gives a lease back whose call certainly did not happen. Returns false if it was lost. */
    public boolean releaseLease(Connection tx, Lease lease) throws SQLException {
        need(lease, "a lease");
        return call(tx, "SELECT %s.release_lease(?, ?, ?)", set -> {
            set.uuid(lease.digest()).uuid(lease.attempt()).texts(ledgerOr("inbox_leases"));
        }, Inbox::flag);
    }

    private boolean store(Connection tx, String function, UUID digest, UUID attempt, Result result,
            String ledger) throws SQLException {
        need(result, "a result");
        List<Header> headers = result.headers();
        return call(tx, "SELECT %s." + function + "(digest => ?, attempt => ?, status => ?, "
            + "body => ?, failed => ?, tenant => ?, ledger => ?"
            + (headers.isEmpty() ? ")" : HEADERS + ")"), set -> {
                set.uuid(digest).uuid(attempt).number(result.status()).bytes(result.body())
                    .flag(result.failed()).texts(tenant, ledger);
                if (!headers.isEmpty()) {
                    set.array("text", headers.stream().map(Header::name).toArray(String[]::new))
                        .array("text", headers.stream().map(Header::value).toArray(String[]::new));
                }
            }, rows -> function.equals("finish") || flag(rows));
    }

    private interface Setter {
        void set(Parameters parameters) throws SQLException;
    }

    private interface Reader<T> {
        T read(ResultSet rows) throws SQLException;
    }

    private <T> T call(Connection tx, String sql, Setter setter, Reader<T> reader)
            throws SQLException {
        need(tx, "a connection");
        if (tx.getAutoCommit()) {
            throw new InboxException.Argument("the connection commits each statement by itself; "
                + "claims need a transaction: setAutoCommit(false)");
        }
        String quoted = '"' + schema.replace("\"", "\"\"") + '"';
        checkVersion(tx, quoted);
        try (PreparedStatement statement = tx.prepareStatement(sql.replace("%s", quoted))) {
            setter.set(new Parameters(statement));
            try (ResultSet rows = statement.executeQuery()) {
                return reader.read(rows);
            }
        } catch (SQLException error) {
            throw InboxException.translated(error);
        }
    }

    private void checkVersion(Connection tx, String quoted) throws SQLException {
        if (checked.get()) {
            return;
        }
        try (PreparedStatement statement =
                tx.prepareStatement("SELECT " + quoted + ".inbox_version()");
                ResultSet rows = statement.executeQuery()) {
            rows.next();
            if (rows.getInt(1) != VERSION) {
                throw new InboxException.Version(schema, rows.getInt(1), null);
            }
        } catch (SQLException error) {
            // There is no such function, or no such schema.
            if ("42883".equals(error.getSQLState()) || "3F000".equals(error.getSQLState())) {
                throw new InboxException.Version(schema, 0, error);
            }
            throw InboxException.translated(error);
        }
        checked.set(true);
    }

    static void need(Object value, String what) {
        if (value == null) {
            throw new InboxException.Argument(what + " is needed, not null");
        }
    }

    private String ledgerOr(String unnamed) {
        return ledger == null ? unnamed : ledger;
    }

    private static Claim claimOf(ResultSet rows) throws SQLException {
        return new Claim(Outcome.of(rows.getString(1)), uuid(rows, 2), uuid(rows, 3),
            rows.getBoolean(4), number(rows, 5), headers(rows, 6), rows.getBytes(8),
            rows.getObject(9, OffsetDateTime.class));
    }

    private static boolean flag(ResultSet rows) throws SQLException {
        rows.next();
        return rows.getBoolean(1);
    }

    private static UUID uuid(ResultSet rows, int column) throws SQLException {
        return rows.getObject(column, UUID.class);
    }

    private static Integer number(ResultSet rows, int column) throws SQLException {
        return rows.getObject(column, Integer.class);
    }

    private static List<Header> headers(ResultSet rows, int column) throws SQLException {
        Array names = rows.getArray(column);
        if (names == null) {
            return List.of();
        }
        String[] all = (String[]) names.getArray();
        String[] values = (String[]) rows.getArray(column + 1).getArray();
        List<Header> headers = new ArrayList<>(all.length);
        for (int i = 0; i < all.length; ++i) {
            if (all[i] != null && values[i] != null) { // SQL alone can store others
                headers.add(new Header(all[i], values[i]));
            }
        }
        return List.copyOf(headers);
    }
}
