package io.github.onceward.inbox.spring;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.github.onceward.inbox.CuttingProxy;
import io.github.onceward.inbox.Database;
import io.github.onceward.inbox.InboxException;
import java.io.IOException;
import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import javax.sql.DataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.dao.DataAccessException;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.transaction.IllegalTransactionStateException;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.interceptor.TransactionAspectSupport;
import org.springframework.transaction.support.TransactionTemplate;

class OnceAnnotationTest {
    record Order(String id, long amount, Instant mintedAt) {
        Order(String id, long amount) {
            this(id, amount, Instant.EPOCH);
        }
    }

    record Receipt(int number, List<String> lines) {}

    static class Shop {
        private final JdbcTemplate jdbc;
        final String marker = UUID.randomUUID().toString();
        final List<UUID> calls = new ArrayList<>();
        int runs;

        Shop(DataSource source) {
            jdbc = new JdbcTemplate(source);
        }

        private void effect() {
            jdbc.update("INSERT INTO java_effects VALUES (?, ?)", marker, ++runs);
        }

        @Once(operation = "java-pay", key = "#order.id", ledger = "java",
            fingerprint = "'' + #order.amount", mintedAt = "#order.mintedAt", tenant = "'t'")
        public Receipt pay(Order order) {
            effect();
            return new Receipt(runs, List.of("a", "b"));
        }

        @Once(operation = "java-pay-transactional", key = "#id", ledger = "java")
        @Transactional
        public void payTransactional(UUID id) {
            TransactionAspectSupport.currentTransactionStatus(); // throws if @Transactional is lost
            effect();
        }

        @Once(operation = "java-fail", key = "#id", ledger = "java")
        public int fail(String id, Exception error) throws Exception {
            effect();
            throw error;
        }

        @Once(operation = "java-charge", key = "#id", ledger = "java_leases",
            mode = Once.Mode.OUTSIDE)
        public String charge(String id) {
            calls.add(OnceInterceptor.downstreamKey());
            return "charge " + calls.size();
        }

        @Once(operation = "java-number", key = "#id", ledger = "java")
        public int byNumber(long id) {
            return 1;
        }

        @Once(operation = "java-gone", key = "#id", ledger = "java no ledger")
        public int inNoLedger(String id) {
            return 1;
        }

        @Once(operation = "java-tenant", key = "#id", ledger = "java", tenant = "#tenant")
        public Integer ofTenant(String id, Object tenant) {
            effect();
            return runs;
        }

        public int others() {
            return 7;
        }
    }

    @Configuration(proxyBeanMethods = false)
    @EnableTransactionManagement
    static class Beans {
        @Bean
        static OncePostProcessor oncePostProcessor() {
            return new OncePostProcessor();
        }

        @Bean
        PlatformTransactionManager transactionManager(DataSource source) {
            return new DataSourceTransactionManager(source);
        }

        @Bean
        Shop shop(DataSource source) {
            return new Shop(source);
        }
    }

    private AnnotationConfigApplicationContext context;
    private Shop shop;
    private final String id = UUID.randomUUID().toString();

    @BeforeEach
    void begin() throws SQLException {
        Database.prepare();
        begin(Database.source());
    }

    private void begin(DataSource source) {
        end();
        context = new AnnotationConfigApplicationContext();
        context.registerBean(DataSource.class, () -> source);
        context.register(Beans.class);
        context.refresh();
        shop = context.getBean(Shop.class);
    }

    @AfterEach
    void end() {
        if (context != null) {
            context.close();
        }
    }

    private Shop inner() {
        return (Shop) org.springframework.aop.framework.AopProxyUtils.getSingletonTarget(shop);
    }

    private int effects() throws SQLException {
        return Database.effects(inner().marker);
    }

    @Test
    void aDuplicateGetsTheStoredValue() throws SQLException {
        Receipt receipt = new Receipt(1, List.of("a", "b"));
        assertEquals(receipt, shop.pay(new Order(id, 5)));
        assertEquals(receipt, shop.pay(new Order(id, 5)));
        assertThrows(InboxException.Conflict.class, () -> shop.pay(new Order(id, 6)));
        assertEquals(1, effects());
        assertEquals(7, shop.others());
    }

    @Test
    void aTransactionalMethodJoins() throws SQLException {
        UUID key = UUID.randomUUID();
        shop.payTransactional(key);
        shop.payTransactional(key);
        assertEquals(1, effects());
    }

    @Test
    void exceptionsRollBackAndPass() throws SQLException {
        assertThrows(IOException.class, () -> shop.fail(id, new IOException()));
        assertThrows(IllegalStateException.class,
            () -> shop.fail(id, new IllegalStateException()));
        assertEquals("23505", assertThrows(SQLException.class,
            () -> shop.fail(id, new SQLException("", "23505"))).getSQLState());
        assertEquals(3, inner().runs);
        assertThrows(InboxException.Failed.class,
            () -> shop.fail(id, new InboxException.Failed(402, "no funds")));
        assertThrows(InboxException.Failed.class, () -> shop.fail(id, new IOException()));
        assertEquals(4, inner().runs);
        assertEquals(0, effects());
    }

    @Test
    void aCommitWithoutAnAnswer() throws Exception {
        for (boolean happened : new boolean[] {true, false}) {
            try (CuttingProxy proxy = new CuttingProxy(Database.source(), 0, 1, happened)) {
                begin(proxy.source());
                int number = shop.pay(new Order(id + happened, 5)).number();
                assertEquals(happened ? 1 : 2, number);
                assertTrue(proxy.left() <= 0, "nothing was cut");
                assertEquals(1, effects());
            }
        }
        try (CuttingProxy proxy = new CuttingProxy(Database.source(), 0, 1, false)) {
            begin(proxy.source());
            shop.payTransactional(UUID.randomUUID());
            assertEquals(2, inner().runs);
            assertEquals(1, effects());
        }
    }

    @Test
    void outsideHasADownstreamKeyAndNoTransaction() {
        assertEquals("charge 1", shop.charge(id));
        assertEquals("charge 1", shop.charge(id));
        assertEquals(5, inner().calls.get(0).version());
        assertThrows(IllegalStateException.class, OnceInterceptor::downstreamKey);
    }

    @Test
    void itBeginsItsOwnTransaction() throws SQLException {
        var outer = new TransactionTemplate(context.getBean(PlatformTransactionManager.class));
        for (Runnable call : List.<Runnable>of(() -> shop.pay(new Order(id, 5)),
                () -> shop.charge(id))) {
            assertThrows(IllegalTransactionStateException.class,
                () -> outer.executeWithoutResult(status -> call.run()));
        }
        assertEquals(0, effects());
    }

    @Test
    void wrongArguments() {
        assertEquals("OW004", assertThrows(InboxException.Argument.class,
            () -> shop.pay(new Order(null, 5))).sqlState());
        assertThrows(InboxException.Argument.class, () -> shop.byNumber(17));
        assertThrows(InboxException.Ledger.class, () -> shop.inNoLedger(id));
        assertEquals("OW004", assertThrows(InboxException.Argument.class, () ->
            shop.pay(new Order(id, 5, Instant.parse("2999-01-01T00:00:00Z")))).sqlState());
        assertEquals("OW004", assertThrows(InboxException.Argument.class,
            () -> shop.pay(new Order(id, 5, null))).sqlState());
    }

    @Test
    void aMissingTenantIsRefused() throws SQLException {
        for (Object missing : new Object[] {null, ""}) {
            assertEquals("OW004", assertThrows(InboxException.Argument.class,
                () -> shop.ofTenant(id, missing)).sqlState());
        }
        assertEquals(0, effects());
        assertEquals(1, shop.ofTenant(id, "null"));
        assertEquals(2, shop.ofTenant(id, 17));
        assertEquals(1, shop.ofTenant(id, "null"));
    }

    @Test
    void anErrorOfTheDatabaseIsSprings() throws SQLException {
        var source = Database.source();
        source.setPortNumbers(new int[] {1});
        begin(source);
        assertThrows(org.springframework.transaction.CannotCreateTransactionException.class,
            () -> shop.pay(new Order(id, 5)));
        source.setPortNumbers(Database.source().getPortNumbers());
        source.setOptions("-c default_transaction_read_only=on");
        assertThrows(DataAccessException.class, () -> shop.pay(new Order(id, 5)));
    }
}
