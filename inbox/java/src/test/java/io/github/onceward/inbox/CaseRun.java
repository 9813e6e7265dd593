package io.github.onceward.inbox;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.function.Supplier;

/** Carries out the steps of one case of cases.json. */
final class CaseRun implements AutoCloseable {
    private static final ObjectMapper JSON = new ObjectMapper();

    private final JsonNode steps;
    private final String operation;
    private final Map<String, Connection> connections = new HashMap<>();
    private final Map<String, Object> answers = new HashMap<>();
    private final Map<String, CompletableFuture<Object>> tasks = new HashMap<>();
    private final Map<String, String> named = new HashMap<>(); // a task's `as`
    private JsonNode step;
    private Set<String> unused; // members of the step that nothing has looked at yet

    CaseRun(JsonNode one) {
        steps = one.get("steps");
        operation = one.get("name").textValue() + " " + UUID.randomUUID();
        assertEquals(2, one.size(), "members of the case");
    }

    void all() throws Exception {
        for (JsonNode one : steps) {
            step = one;
            unused = new HashSet<>();
            one.properties().forEach(member -> unused.add(member.getKey()));
            run();
            assertEquals(Set.of(), unused, "members that were not understood, of " + one);
        }
    }

    @Override
    public void close() throws SQLException {
        for (Connection one : connections.values()) {
            one.abort(Runnable::run);
        }
        for (CompletableFuture<Object> task : tasks.values()) {
            assertTrue(task.isDone(), "a task was never joined");
        }
    }

    private JsonNode member(String name) {
        unused.remove(name);
        return step.get(name);
    }

    private String text(String name, String otherwise) {
        JsonNode value = member(name);
        return value == null ? otherwise : value.textValue();
    }

    private boolean flag(String name, boolean otherwise) {
        JsonNode value = member(name);
        return value == null ? otherwise : value.booleanValue();
    }

    private int number(String name, int otherwise) {
        JsonNode value = member(name);
        return value == null ? otherwise : value.intValue();
    }

    private interface Action {
        Object run() throws SQLException;
    }

    private void run() throws Exception {
        String wanted = text("do", null);
        if (wanted.equals("join")) {
            String task = text("task", null);
            Object answer;
            try {
                answer = tasks.get(task).get();
            } catch (ExecutionException error) {
                throw (Exception) error.getCause();
            }
            answers.put(named.getOrDefault(task, task), answer);
            expect(answer);
            return;
        }
        Action action = action(wanted);
        String later = text("later", null);
        String as = text("as", null);
        if (later != null) {
            named.put(later, as == null ? later : as);
            tasks.put(later, CompletableFuture.supplyAsync(() -> {
                try {
                    return action.run();
                } catch (SQLException error) {
                    throw new java.util.concurrent.CompletionException(error);
                }
            }));
            Thread.sleep(100); // so that it waits for the steps that follow
            assertFalse(tasks.get(later).isDone(), "the step did not wait");
            return;
        }
        String state = text("error", null);
        if (state != null) {
            assertEquals(state, stateOf(action), step.toString());
            return;
        }
        Object answer = action.run();
        if (as != null) {
            answers.put(as, answer);
        }
        expect(answer);
    }

    /** The SQLSTATE that an action ends with: of the package's error, or of the driver's own. */
    private static String stateOf(Action action) {
        try {
            return "none, but the answer " + action.run();
        } catch (InboxException error) {
            if (!(error instanceof InboxException.Argument) || error.getCause() != null) {
                assertEquals(((SQLException) error.getCause()).getSQLState(), error.sqlState());
            }
            return error.sqlState();
        } catch (SQLException error) {
            return error.getSQLState();
        }
    }

    private Action action(String wanted) throws SQLException {
        switch (wanted) {
            case "effects":
                int count = number("count", -1);
                return () -> {
                    assertEquals(count, effects());
                    return null;
                };
            case "same":
                List<Object> values = new ArrayList<>();
                JsonNode of = member("of");
                String member = text("member", null);
                of.forEach(name -> values.add(memberOf(answers.get(name.textValue()), member)));
                assertEquals(1, new HashSet<>(values).size(), "different: " + values);
                return () -> null;
            default:
                return onConnection(wanted, connection(text("on", null)));
        }
    }

    private Action onConnection(String wanted, Connection tx) {
        String name = text("name", "");
        switch (wanted) {
            case "begin":
                String isolation = text("isolation", "read committed");
                return () -> {
                    tx.setAutoCommit(false);
                    execute(tx, "SET TRANSACTION ISOLATION LEVEL " + isolation);
                    return null;
                };
            case "commit":
                return () -> {
                    try {
                        tx.commit();
                    } finally {
                        tx.setAutoCommit(true);
                    }
                    return null;
                };
            case "rollback":
                return () -> {
                    tx.rollback();
                    tx.setAutoCommit(true);
                    return null;
                };
            case "break":
                connections.values().remove(tx);
                return () -> {
                    tx.abort(Runnable::run);
                    return null;
                };
            case "sql":
                String sql = text("text", null);
                return () -> execute(tx, sql);
            case "savepoint":
                return () -> execute(tx, "SAVEPOINT " + name);
            case "rollback_to":
                return () -> execute(tx, "ROLLBACK TO SAVEPOINT " + name);
            case "release":
                return () -> execute(tx, "RELEASE SAVEPOINT " + name);
            case "effect":
                int value = number("value", 0);
                return () -> execute(tx, "INSERT INTO inbox_effects VALUES ('" + operation + "', "
                    + value + ")");
            default:
                return onInbox(wanted, tx);
        }
    }

    private Action onInbox(String wanted, Connection tx) {
        String suffix = text("suffix", "");
        String tenant = text("tenant", "");
        String ledger = text("ledger", wanted.contains("lease") ? "cases_leases" : "cases");
        // Made by the step itself, which may be refused for one of these texts.
        Supplier<Inbox> inbox = () ->
            Inbox.of(operation + suffix).tenant(tenant).ledger(ledger);
        UUID attempt = UUID.fromString(text("attempt", UUID.randomUUID().toString()));
        Duration hold = Duration.ofMillis(number("hold_ms", 60_000));
        Object earlier = wanted.matches("finish.*|.*_lease") ? answers.get(text("of", null)) : null;
        switch (wanted) {
            case "claim":
                Key key = stamped(key(member("key")));
                return () -> inbox.get().claim(tx, key, attempt);
            case "finish":
                Result result = result();
                return () -> {
                    inbox.get().finish(tx, (Claim) earlier, result);
                    return null;
                };
            case "claim_many":
                List<Key> keys = keys();
                int most = number("max_bytes", 1 << 20);
                return () -> inbox.get().claimMany(tx, keys, attempt, most);
            case "finish_many":
                int status = number("status", 0);
                return () -> {
                    inbox.get().finishMany(tx, claims(earlier), status);
                    return null;
                };
            case "lease":
                Key leased = stamped(key(member("key")));
                boolean honoursKey = flag("honours_key", true);
                return () -> inbox.get().lease(tx, leased, attempt, hold, honoursKey);
            case "end_lease":
                Result end = result();
                return () -> inbox.get().endLease(tx, (Lease) earlier, end);
            case "extend_lease":
                return () -> inbox.get().extendLease(tx, (Lease) earlier, hold);
            case "release_lease":
                return () -> inbox.get().releaseLease(tx, (Lease) earlier);
            default:
                return fail("a step that is not known: " + wanted);
        }
    }

    @SuppressWarnings("unchecked")
    private static List<Claim> claims(Object answer) {
        return (List<Claim>) answer;
    }

    static Key key(JsonNode key) {
        if (key.has("hex")) {
            return Key.of(HexFormat.of().parseHex(key.get("hex").textValue()));
        }
        if (key.has("repeat")) {
            return Key.of(key.get("repeat").textValue().repeat(key.get("times").intValue()));
        }
        return Key.of(key.textValue());
    }

    private Key stamped(Key key) {
        String minted = text("minted_at", null);
        return key.fingerprint(text("fingerprint", null))
            .mintedAt(minted == null ? null : Instant.parse(minted));
    }

    private List<Key> keys() {
        JsonNode prints = member("fingerprints");
        JsonNode times = member("minted_at");
        List<Key> keys = new ArrayList<>();
        for (JsonNode one : member("keys")) {
            int at = keys.size();
            Key made = key(one);
            made = prints == null ? made : made.fingerprint(prints.get(at).textValue());
            keys.add(times == null || times.get(at).isNull() ? made
                : made.mintedAt(Instant.parse(times.get(at).textValue())));
        }
        return keys;
    }

    private Result result() {
        List<Header> headers = new ArrayList<>();
        JsonNode given = member("headers");
        if (given != null) {
            given.forEach(one -> headers.add(
                new Header(one.get("name").textValue(), one.get("value").textValue())));
        }
        byte[] body = new byte[number("body_bytes", 0)];
        byte[] words = text("body", "").getBytes(StandardCharsets.UTF_8);
        return new Result(number("status", 0), headers, words.length > 0 ? words : body,
            flag("failed", false));
    }

    private void expect(Object answer) {
        JsonNode wanted = member("expect");
        JsonNode lengths = member("body_lengths");
        if (wanted == null) {
            return;
        }
        if (wanted.isArray()) {
            List<String> outcomes = claims(answer).stream().map(one -> outcome(one.outcome()))
                .toList();
            assertEquals(JSON.convertValue(wanted, List.class), outcomes);
        } else if (wanted.isObject()) {
            wanted.properties().forEach(one -> assertEquals(one.getValue(),
                memberOf(answer, one.getKey()), one.getKey() + " of " + step));
        } else {
            assertEquals(wanted.booleanValue(), answer, step.toString());
        }
        for (int i = 0; lengths != null && i < lengths.size(); ++i) {
            byte[] body = claims(answer).get(i).body();
            if (lengths.get(i).isNull()) {
                assertNull(body);
            } else {
                assertEquals(lengths.get(i).intValue(), body.length);
            }
        }
    }

    private static String outcome(Outcome outcome) {
        return outcome.name().toLowerCase(java.util.Locale.ROOT);
    }

    /** A member of an answer by its name in SQL, as JSON. */
    private static JsonNode memberOf(Object answer, String name) {
        String camel = java.util.regex.Pattern.compile("_(.)").matcher(name)
            .replaceAll(letter -> letter.group(1).toUpperCase(java.util.Locale.ROOT));
        try {
            Method accessor = answer.getClass().getMethod(camel);
            Object value = accessor.invoke(answer);
            if (value instanceof byte[] bytes) {
                return JsonNodeFactory.instance.textNode(new String(bytes, StandardCharsets.UTF_8));
            }
            return value instanceof Outcome one ? JsonNodeFactory.instance.textNode(outcome(one))
                : JSON.readTree(JSON.writeValueAsBytes(value));
        } catch (ReflectiveOperationException | java.io.IOException error) {
            return fail("no member " + name + " in " + answer, error);
        }
    }

    private Connection connection(String name) throws SQLException {
        if (!connections.containsKey(name)) {
            connections.put(name, Database.source().getConnection());
        }
        return connections.get(name);
    }

    private static Object execute(Connection tx, String sql) throws SQLException {
        try (Statement statement = tx.createStatement()) {
            statement.execute(sql);
            return null;
        }
    }

    private int effects() throws SQLException {
        try (Connection other = Database.source().getConnection();
                Statement statement = other.createStatement();
                var rows = statement.executeQuery(
                    "SELECT count(*) FROM inbox_effects WHERE operation = '" + operation + "'")) {
            rows.next();
            return rows.getInt(1);
        }
    }
}
