"""The table of functions, and the page that is generated from it."""

from __future__ import annotations

from typing import Final

import pytest

from docs.make_sql_functions import CHANGING, PAGE, page
from firesteel.sql import functions
from firesteel.sql.functions.registry import FUNCTIONS, FunctionDefinition, FunctionKind
from tests.sql.functions.evaluating import DATA, bind, value

functions.load_all()
ALL: Final = FUNCTIONS.all()
SCALARS: Final = [d for d in ALL if d.kind is FunctionKind.SCALAR]


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run docs/make_sql_functions.py"


@pytest.mark.parametrize("definition", [d for d in SCALARS if d.example], ids=lambda d: d.name)
def test_examples_give_values(definition: FunctionDefinition) -> None:
    expression = bind(definition.example)
    found = value(definition.example)
    assert found is not None or expression.type.nullable
    if definition.name in CHANGING:
        assert not definition.deterministic


@pytest.mark.parametrize("definition", ALL, ids=lambda d: d.name)
def test_each_function_is_described_and_computed_in_one_way(definition: FunctionDefinition) -> None:
    assert definition.doc.endswith(".")
    assert definition.signatures
    ways = [definition.columns is not None, definition.value is not None, definition.aggregate is not None]
    assert sum(ways) == (0 if definition.expand is not None and not any(ways) else 1)
    assert definition.name == definition.name.upper()


def test_names_of_sql_are_unique() -> None:
    names = [n for d in ALL for n in d.sql_names]
    assert len(names) == len(set(names))
    assert functions.find("upper") is functions.named("UPPER")
    assert functions.find("no such function") is None


#: of Flink's list: what stands for it here, or why it is not there
RENAMED: Final = {
    "AND": "AND", "OR": "OR", "NOT": "NOT", "AS": "of the binder", "ASC": "of the binder",
    "DESC": "of the binder", "OVER": "of the binder", "RANGETO": "of the Table API",
    "ROWTIME": "of the Table API", "START": "TUMBLE_START", "END": "TUMBLE_END",
    "WITHCOLUMNS": "of the Table API", "WITHOUTCOLUMNS": "of the Table API", "DISTINCT": "of the binder",
    "ASSIGNMENT": "of the binder", "DEFAULT": "of the binder", "FLATTEN": "of the Table API",
    "STREAMRECORDTIMESTAMP": "of the Table API", "REINTERPRETCAST": "of Flink's own plans",
    "AGG_DECIMAL_MINUS": "of Flink's own plans", "AGG_DECIMAL_PLUS": "of Flink's own plans",
    "HIVE_AGG_DECIMAL_PLUS": "of Flink's own plans", "FROM_CHANGELOG": "of the planner",
    "TO_CHANGELOG": "of the planner", "ML_PREDICT": "of the planner",
    "OBJECT_OF": "objects of Java classes", "OBJECT_UPDATE": "objects of Java classes",
    "CHARLENGTH": "CHAR_LENGTH", "CONVERTTZ": "CONVERT_TZ", "CURRENTDATABASE": "CURRENT_DATABASE",
    "CURRENTDATE": "CURRENT_DATE", "CURRENTROWTIMESTAMP": "CURRENT_ROW_TIMESTAMP",
    "CURRENTTIME": "CURRENT_TIME", "CURRENTTIMESTAMP": "CURRENT_TIMESTAMP", "DATEFORMAT": "DATE_FORMAT",
    "FROMBASE64": "FROM_BASE64", "FROMUNIXTIME": "FROM_UNIXTIME",
    "GREATERTHAN": "GREATER_THAN", "GREATERTHANOREQUAL": "GREATER_THAN_OR_EQUAL", "IFTHENELSE": "IF",
    "ISFALSE": "IS_FALSE", "ISNOTFALSE": "IS_NOT_FALSE", "ISNOTNULL": "IS_NOT_NULL",
    "ISNOTTRUE": "IS_NOT_TRUE", "ISNULL": "IS_NULL", "ISTRUE": "IS_TRUE", "LESSTHAN": "LESS_THAN",
    "LESSTHANOREQUAL": "LESS_THAN_OR_EQUAL", "LOWERCASE": "LOWER", "MINUSPREFIX": "MINUS_PREFIX",
    "NOTBETWEEN": "NOT_BETWEEN", "NOTEQUALS": "NOT_EQUALS", "PARSEURL": "PARSE_URL",
    "RANDINTEGER": "RAND_INTEGER", "REGEXPEXTRACT": "REGEXP_EXTRACT", "REGEXPREPLACE": "REGEXP_REPLACE",
    "SPLITINDEX": "SPLIT_INDEX", "STDDEVPOP": "STDDEV_POP", "STDDEVSAMP": "STDDEV_SAMP",
    "STRTOMAP": "STR_TO_MAP", "SUBSTR": "SUBSTRING", "TEMPORALOVERLAPS": "TEMPORAL_OVERLAPS",
    "TIMESTAMPDIFF": "TIMESTAMPDIFF", "TOBASE64": "TO_BASE64", "TODATE": "TO_DATE",
    "TOTIMESTAMP": "TO_TIMESTAMP", "TRANSLATE3": "TRANSLATE", "UNIXTIMESTAMP": "UNIX_TIMESTAMP",
    "UPPERCASE": "UPPER", "VARPOP": "VAR_POP", "VARSAMP": "VAR_SAMP", "NOW": "CURRENT_TIMESTAMP",
    "JSON_ARRAYAGG_ABSENT_ON_NULL": "JSON_ARRAYAGG", "JSON_ARRAYAGG_NULL_ON_NULL": "JSON_ARRAYAGG",
    "JSON_OBJECTAGG_ABSENT_ON_NULL": "JSON_OBJECTAGG", "JSON_OBJECTAGG_NULL_ON_NULL": "JSON_OBJECTAGG",
    "LOCALTIME": "LOCALTIME", "LOCALTIMESTAMP": "LOCALTIMESTAMP",
}  # fmt: skip
FLINK: Final = (DATA / "flink_functions.txt").read_text(encoding="utf-8").split()


def test_all_functions_of_flink_are_there_or_have_a_reason() -> None:
    assert len(FLINK) == 251
    known = {d.name for d in ALL}
    unexplained = [
        name
        for name in FLINK
        if name.upper() not in known
        and not (RENAMED.get(name.upper(), "") in known or RENAMED.get(name.upper(), "").count(" ") > 0)
    ]
    assert unexplained == []
