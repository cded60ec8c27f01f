// The pattern of cep_fraud.py on Flink's own CEP library. Run by cep_fraud_flink.py.
//
// Arguments: KEYS REUSE RECORDS ...; prints a line of JSON for each number of records.

import java.lang.management.ManagementFactory;
import java.time.Duration;
import org.apache.flink.api.common.accumulators.LongCounter;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RichMapFunction;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.connector.source.lib.NumberSequenceSource;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.api.java.tuple.Tuple4;
import org.apache.flink.cep.CEP;
import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.cep.pattern.conditions.SimpleCondition;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;

public class CepFraud {
    /** Key, amount, whether at home, event time. */
    private static final TypeInformation<Tuple4<Long, Long, Boolean, Long>> PAYMENT =
            Types.TUPLE(Types.LONG, Types.LONG, Types.BOOLEAN, Types.LONG);

    public static void main(String[] args) throws Exception {
        long keys = Long.parseLong(args[0]);
        boolean reuse = Boolean.parseBoolean(args[1]);
        for (int i = 2; i < args.length; i++) {
            run(Long.parseLong(args[i]), keys, reuse);
        }
    }

    private static void run(long records, long keys, boolean reuse) throws Exception {
        StreamExecutionEnvironment env = StreamExecutionEnvironment.createLocalEnvironment(2);
        if (reuse) {
            env.getConfig().enableObjectReuse();
        }
        long half = records / 2;
        Pattern<Tuple4<Long, Long, Boolean, Long>, ?> pattern =
                Pattern.<Tuple4<Long, Long, Boolean, Long>>begin("high")
                        .where(SimpleCondition.of(p -> p.f1 > 5000))
                        .followedBy("foreign")
                        .where(SimpleCondition.of(p -> !p.f2))
                        .within(Duration.ofMinutes(10));
        var payments =
                env.fromSource(
                                new NumberSequenceSource(0, records - 1),
                                WatermarkStrategy.noWatermarks(),
                                "numbers")
                        .map(n -> payment(n, keys, half), PAYMENT)
                        .assignTimestampsAndWatermarks(
                                WatermarkStrategy.<Tuple4<Long, Long, Boolean, Long>>forMonotonousTimestamps()
                                        .withTimestampAssigner((p, before) -> p.f3))
                        .keyBy(p -> p.f0, Types.LONG);
        CEP.pattern(payments, pattern)
                .select(m -> Tuple2.of(m.get("high").get(0).f1, m.get("foreign").get(0).f1),
                        Types.TUPLE(Types.LONG, Types.LONG))
                .map(new Matches(), Types.LONG)
                .sinkTo(new DiscardingSink<>());
        long begun = System.nanoTime();
        double cpu = cpuSeconds();
        long found = env.execute("fraud").getAccumulatorResult("matches");
        System.out.printf(
                "{\"records\": %d, \"seconds\": %.3f, \"cpu_seconds\": %.3f, \"matches\": %d}%n",
                records, (System.nanoTime() - begun) / 1e9, cpuSeconds() - cpu, found);
    }

    private static Tuple4<Long, Long, Boolean, Long> payment(long n, long keys, long half) {
        long chance = ((n ^ n >> 9) * 2654435761L >>> 20) % 150;
        return Tuple4.of(n % keys, chance == 0 ? 9000L : 10L, chance != 1, n % half * 2 + n / half);
    }

    private static double cpuSeconds() {
        return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
                        .getProcessCpuTime()
                / 1e9;
    }

    /** Counts what it lets pass. */
    private static class Matches extends RichMapFunction<Tuple2<Long, Long>, Long> {
        private final LongCounter matches = new LongCounter();

        @Override
        public void open(OpenContext context) {
            getRuntimeContext().addAccumulator("matches", matches);
        }

        @Override
        public Long map(Tuple2<Long, Long> match) {
            matches.add(1);
            return match.f1;
        }
    }
}
