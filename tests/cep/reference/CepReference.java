// Runs pattern programs on Flink's own CEP library and prints what it matches.
//
// Reads JSON lines, each {"pattern": {...}, "events": [[timestamp, kind, value], ...], "end": timestamp}, and
// answers each with a line {"steps": [...], "partial": n, "buffer_empty": b} or {"refused": message}. Events are
// processed as CepOperator processes them in event time: time advances to the timestamp of an event, then the
// event is processed. tests/cep/programs.py describes the form of patterns and conditions.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.flink.api.common.state.KeyedStateStore;
import org.apache.flink.api.common.state.MapState;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.typeutils.base.LongSerializer;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.cep.configuration.SharedBufferCacheConfig;
import org.apache.flink.cep.nfa.NFA;
import org.apache.flink.cep.nfa.NFAState;
import org.apache.flink.cep.nfa.aftermatch.AfterMatchSkipStrategy;
import org.apache.flink.cep.nfa.compiler.NFACompiler;
import org.apache.flink.cep.nfa.sharedbuffer.SharedBuffer;
import org.apache.flink.cep.nfa.sharedbuffer.SharedBufferAccessor;
import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.cep.pattern.WithinType;
import org.apache.flink.cep.pattern.conditions.IterativeCondition;
import org.apache.flink.cep.pattern.conditions.SimpleCondition;
import org.apache.flink.cep.time.TimerService;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;

public class CepReference {
    private static final ObjectMapper JSON = new ObjectMapper();

    /** An event is its place in the input. */
    private static long[] stamps;
    private static String[] kinds;
    private static int[] values;

    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            ObjectNode answer = JSON.createObjectNode();
            try {
                run(JSON.readTree(line), answer);
            } catch (RuntimeException | StackOverflowError e) {
                answer.removeAll();
                Throwable cause = e;
                while (cause.getCause() != null) {
                    cause = cause.getCause();
                }
                answer.put("refused", cause.getClass().getSimpleName() + ": " + cause.getMessage());
            }
            System.out.println(JSON.writeValueAsString(answer));
        }
        System.exit(0);
    }

    private static void run(JsonNode program, ObjectNode answer) throws Exception {
        readEvents(program.get("events"));
        Pattern<Long, ?> pattern = pattern(program.get("pattern"));
        NFA<Long> nfa = NFACompiler.compileFactory(pattern, true).createNFA();
        AfterMatchSkipStrategy skip = pattern.getAfterMatchSkipStrategy();
        SharedBuffer<Long> buffer =
                new SharedBuffer<>(memoryStore(), LongSerializer.INSTANCE, SharedBufferCacheConfig.of(new Configuration()));
        NFAState state = nfa.createInitialNFAState();
        TimerService timers = () -> 0L;
        ArrayNode steps = answer.putArray("steps");
        long now = Long.MIN_VALUE;
        for (int i = 0; i < stamps.length; i++) {
            if (stamps[i] > now) {
                now = stamps[i];
                advance(nfa, buffer, state, skip, now, steps);
            }
            try (SharedBufferAccessor<Long> accessor = buffer.getAccessor()) {
                Collection<Map<String, List<Long>>> matches =
                        nfa.process(accessor, state, (long) i, stamps[i], skip, timers);
                if (!matches.isEmpty()) {
                    ObjectNode step = steps.addObject();
                    step.put("event", i);
                    write(step.putArray("matches"), matches);
                }
            }
        }
        advance(nfa, buffer, state, skip, program.get("end").asLong(), steps);
        answer.put("partial", state.getPartialMatches().size() + state.getCompletedMatches().size());
        answer.put("buffer_empty", buffer.isEmpty());
        buffer.releaseCacheStatisticsTimer();
    }

    private static void advance(
            NFA<Long> nfa, SharedBuffer<Long> buffer, NFAState state, AfterMatchSkipStrategy skip, long now, ArrayNode steps)
            throws Exception {
        try (SharedBufferAccessor<Long> accessor = buffer.getAccessor()) {
            Tuple2<Collection<Map<String, List<Long>>>, Collection<Tuple2<Map<String, List<Long>>, Long>>> found =
                    nfa.advanceTime(accessor, state, now, skip);
            if (found.f0.isEmpty() && found.f1.isEmpty()) {
                return;
            }
            ObjectNode step = steps.addObject();
            step.put("advance", now);
            write(step.putArray("matches"), found.f0);
            ArrayNode timeouts = step.putArray("timeouts");
            for (Tuple2<Map<String, List<Long>>, Long> timeout : found.f1) {
                ArrayNode pair = timeouts.addArray();
                write(pair, List.of(timeout.f0));
                pair.add(timeout.f1);
            }
        }
    }

    private static void write(ArrayNode target, Collection<Map<String, List<Long>>> matches) {
        for (Map<String, List<Long>> match : matches) {
            ArrayNode written = target.addArray();
            for (Map.Entry<String, List<Long>> entry : match.entrySet()) {
                ArrayNode part = written.addArray();
                part.add(entry.getKey());
                ArrayNode events = part.addArray();
                entry.getValue().forEach(event -> events.add(event.longValue()));
            }
        }
    }

    private static void readEvents(JsonNode events) {
        int n = events.size();
        stamps = new long[n];
        kinds = new String[n];
        values = new int[n];
        for (int i = 0; i < n; i++) {
            stamps[i] = events.get(i).get(0).asLong();
            kinds[i] = events.get(i).get(1).asText();
            values[i] = events.get(i).get(2).asInt();
        }
    }

    // ---- patterns

    private static Pattern<Long, ?> pattern(JsonNode spec) {
        return chain(spec.get("stages"), skip(spec.get("skip")));
    }

    private static AfterMatchSkipStrategy skip(JsonNode spec) {
        switch (spec == null ? "no_skip" : spec.get(0).asText()) {
            case "skip_to_next":
                return AfterMatchSkipStrategy.skipToNext();
            case "skip_past_last_event":
                return AfterMatchSkipStrategy.skipPastLastEvent();
            case "skip_to_first":
                return spec.size() > 2
                        ? AfterMatchSkipStrategy.skipToFirst(spec.get(1).asText()).throwExceptionOnMiss()
                        : AfterMatchSkipStrategy.skipToFirst(spec.get(1).asText());
            case "skip_to_last":
                return spec.size() > 2
                        ? AfterMatchSkipStrategy.skipToLast(spec.get(1).asText()).throwExceptionOnMiss()
                        : AfterMatchSkipStrategy.skipToLast(spec.get(1).asText());
            default:
                return AfterMatchSkipStrategy.noSkip();
        }
    }

    private static Pattern<Long, Long> chain(JsonNode stages, AfterMatchSkipStrategy skip) {
        Pattern<Long, Long> pattern = null;
        for (JsonNode stage : stages) {
            pattern = linked(pattern, stage, skip);
            for (JsonNode step : stage.get("steps")) {
                pattern = applied(pattern, step);
            }
        }
        return pattern;
    }

    private static Pattern<Long, Long> linked(Pattern<Long, Long> before, JsonNode stage, AfterMatchSkipStrategy skip) {
        String link = stage.get("link").asText();
        if (stage.has("group")) {
            Pattern<Long, Long> group = chain(stage.get("group"), AfterMatchSkipStrategy.noSkip());
            switch (link) {
                case "begin":
                    return Pattern.begin(group, skip);
                case "next":
                    return before.next(group);
                case "followed_by":
                    return before.followedBy(group);
                default:
                    return before.followedByAny(group);
            }
        }
        String name = stage.get("name").asText();
        switch (link) {
            case "begin":
                return Pattern.<Long>begin(name, skip);
            case "next":
                return before.next(name);
            case "followed_by":
                return before.followedBy(name);
            case "followed_by_any":
                return before.followedByAny(name);
            case "not_next":
                return before.notNext(name);
            default:
                return before.notFollowedBy(name);
        }
    }

    private static Duration window(JsonNode step, int place) {
        return step.size() > place ? Duration.ofMillis(step.get(place).asLong()) : null;
    }

    private static Pattern<Long, Long> applied(Pattern<Long, Long> pattern, JsonNode step) {
        switch (step.get(0).asText()) {
            case "where":
                return pattern.where(condition(step.get(1)));
            case "or_where":
                return pattern.or(condition(step.get(1)));
            case "until":
                return pattern.until(condition(step.get(1)));
            case "times":
                return pattern.times(step.get(1).asInt(), window(step, 2));
            case "times_range":
                return pattern.times(step.get(1).asInt(), step.get(2).asInt(), window(step, 3));
            case "times_or_more":
                return pattern.timesOrMore(step.get(1).asInt(), window(step, 2));
            case "one_or_more":
                return pattern.oneOrMore(window(step, 1));
            case "optional":
                return pattern.optional();
            case "greedy":
                return pattern.greedy();
            case "allow_combinations":
                return pattern.allowCombinations();
            case "consecutive":
                return pattern.consecutive();
            case "within":
                return pattern.within(Duration.ofMillis(step.get(1).asLong()));
            case "within_previous":
                return pattern.within(Duration.ofMillis(step.get(1).asLong()), WithinType.PREVIOUS_AND_CURRENT);
            default:
                throw new IllegalArgumentException("no such step: " + step);
        }
    }

    private static IterativeCondition<Long> condition(JsonNode spec) {
        switch (spec.get(0).asText()) {
            case "kind":
                String kind = spec.get(1).asText();
                return SimpleCondition.of(e -> kinds[(int) (long) e].equals(kind));
            case "over":
                int least = spec.get(1).asInt();
                return SimpleCondition.of(e -> values[(int) (long) e] > least);
            case "rising": // the value is above that of the last event of a stage, if there is one
                String before = spec.get(1).asText();
                return new IterativeCondition<Long>() {
                    @Override
                    public boolean filter(Long event, Context<Long> context) throws Exception {
                        int last = Integer.MIN_VALUE;
                        for (long earlier : context.getEventsForPattern(before)) {
                            last = values[(int) earlier];
                        }
                        return values[(int) (long) event] > last;
                    }
                };
            case "sum_below": // with the values of a stage's events so far
                String of = spec.get(1).asText();
                int most = spec.get(2).asInt();
                return new IterativeCondition<Long>() {
                    @Override
                    public boolean filter(Long event, Context<Long> context) throws Exception {
                        int sum = values[(int) (long) event];
                        for (long earlier : context.getEventsForPattern(of)) {
                            sum += values[(int) earlier];
                        }
                        return sum < most;
                    }
                };
            default:
                throw new IllegalArgumentException("no such condition: " + spec);
        }
    }

    // ---- state in memory

    private static KeyedStateStore memoryStore() {
        return (KeyedStateStore)
                Proxy.newProxyInstance(
                        CepReference.class.getClassLoader(),
                        new Class<?>[] {KeyedStateStore.class},
                        (proxy, method, arguments) -> {
                            switch (method.getName()) {
                                case "getMapState":
                                    return new MemoryMap<Object, Object>();
                                case "getState":
                                    return new MemoryValue<Object>();
                                default:
                                    throw new UnsupportedOperationException(method.toString());
                            }
                        });
    }

    private static final class MemoryValue<T> implements ValueState<T> {
        private T value;

        @Override
        public T value() {
            return value;
        }

        @Override
        public void update(T newValue) {
            value = newValue;
        }

        @Override
        public void clear() {
            value = null;
        }
    }

    private static final class MemoryMap<K, V> implements MapState<K, V> {
        private final Map<K, V> map = new HashMap<>();

        @Override
        public V get(K key) {
            return map.get(key);
        }

        @Override
        public void put(K key, V value) {
            map.put(key, value);
        }

        @Override
        public void putAll(Map<K, V> other) {
            map.putAll(other);
        }

        @Override
        public void remove(K key) {
            map.remove(key);
        }

        @Override
        public boolean contains(K key) {
            return map.containsKey(key);
        }

        @Override
        public Iterable<Map.Entry<K, V>> entries() {
            return map.entrySet();
        }

        @Override
        public Iterable<K> keys() {
            return map.keySet();
        }

        @Override
        public Iterable<V> values() {
            return map.values();
        }

        @Override
        public Iterator<Map.Entry<K, V>> iterator() {
            return map.entrySet().iterator();
        }

        @Override
        public boolean isEmpty() {
            return map.isEmpty();
        }

        @Override
        public void clear() {
            map.clear();
        }
    }
}
