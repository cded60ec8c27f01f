import org.apache.flink.api.common.eventtime.TimestampAssigner;
import org.apache.flink.api.common.eventtime.TimestampAssignerSupplier;
import org.apache.flink.api.common.eventtime.WatermarkGenerator;
import org.apache.flink.api.common.eventtime.WatermarkGeneratorSupplier;
import org.apache.flink.api.common.eventtime.WatermarkOutput;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;

/** A strategy whose periodic watermark comes after each record, so that no clock decides what is late. */
public final class AfterEachRecord implements WatermarkStrategy<Object> {
    private final WatermarkStrategy<Object> periodic;

    @SuppressWarnings("unchecked")
    public AfterEachRecord(WatermarkStrategy<?> periodic) {
        this.periodic = (WatermarkStrategy<Object>) periodic;
    }

    @Override
    public TimestampAssigner<Object> createTimestampAssigner(TimestampAssignerSupplier.Context context) {
        return periodic.createTimestampAssigner(context);
    }

    @Override
    public WatermarkGenerator<Object> createWatermarkGenerator(WatermarkGeneratorSupplier.Context context) {
        WatermarkGenerator<Object> generator = periodic.createWatermarkGenerator(context);
        return new WatermarkGenerator<Object>() {
            @Override
            public void onEvent(Object event, long timestamp, WatermarkOutput output) {
                generator.onEvent(event, timestamp, output);
                generator.onPeriodicEmit(output);
            }

            @Override
            public void onPeriodicEmit(WatermarkOutput output) {}
        };
    }
}
