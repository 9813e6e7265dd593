package io.github.onceward.inbox.spring;

import static io.github.onceward.inbox.Once.inside;
import static io.github.onceward.inbox.Once.outside;

import io.github.onceward.inbox.Codec;
import io.github.onceward.inbox.Inbox;
import io.github.onceward.inbox.InboxException;
import io.github.onceward.inbox.Key;
import io.github.onceward.inbox.OnceOptions;
import io.github.onceward.inbox.Transactions;
import java.lang.reflect.Method;
import java.lang.reflect.Type;
import java.lang.reflect.UndeclaredThrowableException;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.aopalliance.intercept.MethodInterceptor;
import org.aopalliance.intercept.MethodInvocation;
import org.springframework.aop.ProxyMethodInvocation;
import org.springframework.aop.support.AopUtils;
import org.springframework.context.expression.MethodBasedEvaluationContext;
import org.springframework.core.DefaultParameterNameDiscoverer;
import org.springframework.core.annotation.AnnotationUtils;
import org.springframework.dao.DataAccessException;
import org.springframework.expression.spel.standard.SpelExpressionParser;
import org.springframework.jdbc.UncategorizedSQLException;
import org.springframework.jdbc.support.SQLExceptionSubclassTranslator;

/** Runs the methods that have {@link Once}. */
public final class OnceInterceptor implements MethodInterceptor {
    private static final ThreadLocal<UUID> DOWNSTREAM_KEY = new ThreadLocal<>();

    private final Supplier<Transactions> transactions;
    private final Function<Type, Codec<Object>> codecs;
    private final SpelExpressionParser parser = new SpelExpressionParser();
    private final DefaultParameterNameDiscoverer names = new DefaultParameterNameDiscoverer();
    private final Map<Method, Plan> plans = new ConcurrentHashMap<>();

    private record Plan(Once once, Inbox inbox, OnceOptions<Object> options) {}

    public OnceInterceptor(Supplier<Transactions> transactions,
            Function<Type, Codec<Object>> codecs) {
        this.transactions = transactions;
        this.codecs = codecs;
    }

    /** The key for the other system, on the thread that runs a method of the mode OUTSIDE. */
    public static UUID downstreamKey() {
        UUID key = DOWNSTREAM_KEY.get();
        if (key == null) {
            throw new IllegalStateException("no method with @Once(mode = OUTSIDE) runs here");
        }
        return key;
    }

    @Override
    public Object invoke(MethodInvocation invocation) throws Throwable {
        Method method = AopUtils.getMostSpecificMethod(invocation.getMethod(),
            invocation.getThis() == null ? null : invocation.getThis().getClass());
        Plan plan = plans.computeIfAbsent(method, this::planOf);
        Key key = keyOf(plan.once(), method, invocation);
        Inbox inbox = plan.once().tenant().isEmpty() ? plan.inbox()
            : plan.inbox().tenant(tenantOf(plan.once(), method, invocation));
        try {
            if (plan.once().mode() == Once.Mode.OUTSIDE) {
                return outside(transactions.get(), inbox, key, plan.options(),
                    downstreamKey -> proceed(invocation, downstreamKey));
            }
            return inside(transactions.get(), inbox, key, plan.options(),
                tx -> proceed(invocation, null));
        } catch (SQLException error) {
            // A method that does not declare it could not throw it through its proxy.
            if (Stream.of(method.getExceptionTypes()).anyMatch(type -> type.isInstance(error))) {
                throw error;
            }
            DataAccessException known =
                new SQLExceptionSubclassTranslator().translate("@Once", null, error);
            throw known != null ? known : new UncategorizedSQLException("@Once", null, error);
        }
    }

    private static Object proceed(MethodInvocation invocation, UUID downstreamKey)
            throws Exception {
        UUID outer = DOWNSTREAM_KEY.get();
        DOWNSTREAM_KEY.set(downstreamKey);
        try {
            // An invocation proceeds once, and a transaction may be repeated.
            return invocation instanceof ProxyMethodInvocation proxied
                ? proxied.invocableClone().proceed() : invocation.proceed();
        } catch (Exception | Error error) {
            throw error;
        } catch (Throwable error) {
            throw new UndeclaredThrowableException(error);
        } finally {
            DOWNSTREAM_KEY.set(outer);
        }
    }

    private Plan planOf(Method method) {
        Once once = AnnotationUtils.findAnnotation(method, Once.class);
        Inbox inbox = Inbox.of(once.operation()).kind(once.kind()).schema(once.schema())
            .ledger(once.ledger().isEmpty() ? null : once.ledger());
        OnceOptions<Object> options = OnceOptions.of(codecs.apply(method.getGenericReturnType()))
            .tries(once.tries()).hold(Duration.ofMillis(once.holdMillis()))
            .honoursKey(once.honoursKey()).waitFor(Duration.ofMillis(once.waitMillis()));
        return new Plan(once, inbox, options);
    }

    private Key keyOf(Once once, Method method, MethodInvocation invocation) {
        Object given = value(once.key(), method, invocation);
        Key key = given instanceof byte[] bytes ? Key.of(bytes) : Key.of(text(given, "key"));
        if (!once.fingerprint().isEmpty()) {
            Object print = value(once.fingerprint(), method, invocation);
            key = print instanceof byte[] bytes ? key.fingerprint(bytes)
                : print instanceof UUID made ? key.fingerprint(made)
                : key.fingerprint(text(print, "fingerprint"));
        }
        if (once.mintedAt().isEmpty()) {
            return key;
        }
        Instant minted = (Instant) value(once.mintedAt(), method, invocation);
        if (minted == null) {
            throw new InboxException.Argument("@Once: the key does not tell when it was minted");
        }
        return key.mintedAt(minted);
    }

    private String tenantOf(Once once, Method method, MethodInvocation invocation) {
        Object tenant = value(once.tenant(), method, invocation);
        // DANGER: callers whose tenant is missing would share their keys.
        if (tenant == null || tenant.toString().isEmpty()) {
            throw new InboxException.Argument("@Once: the tenant is missing");
        }
        return tenant.toString();
    }

    private static String text(Object value, String what) {
        if (value instanceof CharSequence || value instanceof UUID) {
            return value.toString();
        }
        throw new InboxException.Argument("@Once: the " + what + " is "
            + (value == null ? "null" : "of " + value.getClass())
            + ", not a text, bytes or a UUID");
    }

    private Object value(String expression, Method method, MethodInvocation invocation) {
        return parser.parseExpression(expression).getValue(new MethodBasedEvaluationContext(
            invocation.getThis(), method, invocation.getArguments(), names));
    }
}
