"""In the place of ``pyflink.dataset``, which Flink has removed: importing it says what to use."""

raise ImportError(
    "Flink has removed the DataSet API with version 2.0. Use the DataStream API in BATCH mode: "
    "firesteel.datastream.StreamExecutionEnvironment and set_runtime_mode(RuntimeExecutionMode.BATCH)",
    name=__name__,
)
