package io.github.onceward.inbox;

import java.net.URI;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Assumptions;
import org.postgresql.ds.PGSimpleDataSource;

/** The database of ONCEWARD_TEST_DSN, and what the tests need in it. */
public final class Database {
    private Database() {}

    /** Skips the test if there is no database. */
    public static PGSimpleDataSource source() {
        return source("ONCEWARD_TEST_DSN");
    }

    /** The database that a variable names. Skips the test if it is not set. */
    static PGSimpleDataSource source(String variable) {
        String dsn = System.getenv(variable);
        Assumptions.assumeTrue(dsn != null && !dsn.isBlank(), variable + " is not set");
        Map<String, String> words = words(dsn);
        PGSimpleDataSource source = new PGSimpleDataSource();
        source.setServerNames(new String[] {words.getOrDefault("host", "localhost")});
        source.setPortNumbers(new int[] {Integer.parseInt(words.getOrDefault("port", "5432"))});
        source.setUser(words.getOrDefault("user", System.getProperty("user.name")));
        source.setDatabaseName(words.getOrDefault("dbname", source.getUser()));
        source.setPassword(words.get("password"));
        return source;
    }

    /** The words of a libpq URI, or of a conninfo such as `host=... dbname='...'`. */
    static Map<String, String> words(String dsn) {
        Map<String, String> words = new HashMap<>();
        if (dsn.startsWith("postgres")) {
            URI uri = URI.create(dsn);
            if (uri.getHost() != null) {
                words.put("host", uri.getHost());
            }
            if (uri.getPort() > 0) {
                words.put("port", "" + uri.getPort());
            }
            if (uri.getRawUserInfo() != null) {
                String[] user = uri.getRawUserInfo().split(":", 2);
                words.put("user", decoded(user[0]));
                if (user.length == 2) {
                    words.put("password", decoded(user[1]));
                }
            }
            if (uri.getPath() != null && uri.getPath().length() > 1) {
                words.put("dbname", uri.getPath().substring(1));
            }
            if (uri.getRawQuery() != null) {
                for (String pair : uri.getRawQuery().split("&")) {
                    String[] word = pair.split("=", 2);
                    words.put(word[0], decoded(word[1]));
                }
            }
            return words;
        }
        Matcher word = Pattern.compile("(\\w+)\\s*=\\s*(?:'((?:[^'\\\\]|\\\\.)*)'|(\\S*))")
            .matcher(dsn);
        while (word.find()) {
            String value = word.group(2) == null ? word.group(3) : word.group(2);
            words.put(word.group(1), value.replaceAll("\\\\(.)", "$1"));
        }
        return words;
    }

    private static String decoded(String text) {
        return URLDecoder.decode(text.replace("+", "%2B"), StandardCharsets.UTF_8);
    }

    /** Runs statements, each committed by itself. */
    public static void run(String... statements) throws SQLException {
        try (Connection connection = source().getConnection();
                Statement statement = connection.createStatement()) {
            for (String one : statements) {
                statement.execute(one);
            }
        }
    }

    /** The ledgers and the table of effects. */
    public static void prepare() throws SQLException {
        // One at a time: the tests of four languages may begin at once.
        run("SET client_min_messages = error",
            "SELECT pg_advisory_lock(hashtextextended('onceward inbox tests', 0))",
            "CREATE TABLE IF NOT EXISTS java_effects (operation text, value text)",
            "SELECT onceward.register_ledger('java', max_result_bytes => 100000)",
            "SELECT onceward.register_ledger('java_bare', stores_results => false)",
            "SELECT onceward.register_ledger('java_leases', 'lease')");
    }

    /** An operation that no other test has, in the ledger `java`. */
    public static String operation() {
        return "java-" + UUID.randomUUID();
    }

    public static void effect(Connection tx, String operation, Object value) throws SQLException {
        try (var statement = tx.prepareStatement("INSERT INTO java_effects VALUES (?, ?)")) {
            statement.setString(1, operation);
            statement.setString(2, String.valueOf(value));
            statement.execute();
        }
    }

    /** How many effects of an operation are committed. */
    public static int effects(String operation) throws SQLException {
        try (Connection connection = source().getConnection();
                var statement = connection.prepareStatement(
                    "SELECT count(*) FROM java_effects WHERE operation = ?")) {
            statement.setString(1, operation);
            var rows = statement.executeQuery();
            rows.next();
            return rows.getInt(1);
        }
    }
}
