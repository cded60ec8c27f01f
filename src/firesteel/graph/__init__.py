"""From a program to what runs: stream graph, job graph, levels, execution graph. Plain data, no I/O."""

from firesteel.graph.chaining import is_chainable
from firesteel.graph.execution_graph import (
    Execution,
    ExecutionAttemptID,
    ExecutionGraph,
    ExecutionJobVertex,
    ExecutionState,
    ExecutionVertex,
    InputGate,
    ResultPartition,
    create_execution_graph,
)
from firesteel.graph.explain import explain, explain_all
from firesteel.graph.generator import generate
from firesteel.graph.job_graph import (
    ChainedOperator,
    ChainInput,
    DistributionPattern,
    JobEdge,
    JobGraph,
    JobVertex,
    ResultType,
    create_job_graph,
)
from firesteel.graph.levels import Level, LevelPlan, Route, RouteKind, plan_levels
from firesteel.graph.plan_json import execution_plan_json, to_dict, to_json
from firesteel.graph.stream_graph import GraphConfig, NodeKind, StreamEdge, StreamGraph, StreamNode
from firesteel.graph.uids import operator_id_of_uid, operator_ids

__all__ = [
    "ChainInput",
    "ChainedOperator",
    "DistributionPattern",
    "Execution",
    "ExecutionAttemptID",
    "ExecutionGraph",
    "ExecutionJobVertex",
    "ExecutionState",
    "ExecutionVertex",
    "GraphConfig",
    "InputGate",
    "JobEdge",
    "JobGraph",
    "JobVertex",
    "Level",
    "LevelPlan",
    "NodeKind",
    "ResultPartition",
    "ResultType",
    "Route",
    "RouteKind",
    "StreamEdge",
    "StreamGraph",
    "StreamNode",
    "create_execution_graph",
    "create_job_graph",
    "execution_plan_json",
    "explain",
    "explain_all",
    "generate",
    "is_chainable",
    "operator_id_of_uid",
    "operator_ids",
    "plan_levels",
    "to_dict",
    "to_json",
]
