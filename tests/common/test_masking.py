"""Nothing that is printed, logged or raised has a secret in it."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from click.testing import CliRunner

from firesteel.cli import main
from firesteel.common.configuration import Configuration
from firesteel.common.errors import ConnectorError
from firesteel.common.masking import MASK, is_secret, masked
from firesteel.connectors.jdbc.options import ConnectionOptions
from firesteel.connectors.mongodb.sink import MongoOptions
from firesteel.connectors.rabbitmq.settings import RabbitSettings
from firesteel.datastream._session_defaults import set_session_defaults
from firesteel.formats.schema_registry import RegistrySettings
from firesteel.storage.filesystems import resolve

S = "hunter2"
PLACES = [
    f"s3://AKIA{S}:{S}/x+{S}@bucket/path",
    f"s3://bucket/path?access_key={S}&secret_key={S}&region=eu",
    f"abfs://container@account/p?sig={S}&sv=1",
    f"jdbc:postgresql://host/db?user=me&password={S}",
    f"redis://:{S}@host:6379/0",
    f"amqp://me:{S}@host/vhost, mongodb://me:{S}@one,two/?x=1",
    f"{{'sasl.password': '{S}', \"ssl.key.password\": \"{S}\"}}",
    f'sasl.jaas.config="Plain required username=a password={S};"',
    f"fs.azure.account.key.x={S}; http-headers={S}; aws.session_token={S} basic.auth.user.info={S}",
]


@pytest.mark.parametrize("text", PLACES)
def test_secrets_are_masked_wherever_they_stand(text: str) -> None:
    assert S not in masked(text)
    assert MASK in masked(text)
    error = ConnectorError(text, detail=text, hint=text)
    assert S not in f"{error} {error!r} {error.args}"


@pytest.mark.parametrize(
    "text",
    [
        "s3://bucket/a@b/c",
        "write redis://user:password@host:port/database",
        "host=db port=5432 user=me",
        "the token is 7 characters long",
        "org.example@1.0 = x",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert masked(text) == text


FLINKS = (
    "password my.secret fs.azure.account.key.x apikey api-key x.auth-params service-key token basic-auth "
    "sasl.jaas.config http-headers"
)


@pytest.mark.parametrize("key", FLINKS.split())
def test_flinks_sensitive_keys_are_known(key: str) -> None:
    assert is_secret(key.upper())
    config = Configuration().set_string(key, S).set_string("plain.key", "shown")
    assert S not in f"{config} {config!r}"
    assert "shown" in str(config)
    assert config.to_dict()[key] == S
    with pytest.raises(ValueError, match=key) as info:
        config.get_integer(key, 0)
    assert S not in "".join(traceback.format_exception(info.value))


@pytest.mark.parametrize(
    "make",
    [
        lambda: ConnectionOptions(f"jdbc:postgresql://h/d?password={S}", password=S),
        lambda: RabbitSettings(uri=f"amqp://a:{S}@h", password=S),
        lambda: MongoOptions(f"mongodb://a:{S}@h", "d", "c"),
        lambda: RegistrySettings(f"https://a:{S}@h", {"basic.auth.user.info": S}),
    ],
)
def test_settings_do_not_show_theirs(make: Callable[[], Any]) -> None:
    assert S not in repr(make())


def test_an_address_that_cannot_be_opened_is_shown_without_its_key() -> None:
    storage, path = resolve(f"nosuch://KEY:{S}@bucket/p?secret_key={S}")
    with pytest.raises(ValueError, match="cannot open the file system") as info:
        storage.info(path)
    assert S not in "".join(traceback.format_exception(info.value))


def test_two_names_of_an_option_are_warned_of_without_the_values(caplog: pytest.LogCaptureFixture) -> None:
    address = f"s3://K:{S}@bucket/a"
    config = Configuration().set_string("execution.checkpointing.dir", address)
    config.set_string("state.checkpoints.dir", address + "b")
    with caplog.at_level(logging.WARNING):
        config.get_string("execution.checkpointing.dir", "")
    assert "two names" in caplog.text
    assert S not in caplog.text


@pytest.fixture
def no_session_defaults() -> Iterator[None]:
    """What a command sets is for its process, which here goes on with other tests."""
    yield
    set_session_defaults({})


@pytest.mark.usefixtures("no_session_defaults")
def test_the_command_line_shows_none(tmp_path: Any) -> None:
    program = tmp_path / "p.py"
    program.write_text(
        "from firesteel.datastream import StreamExecutionEnvironment\n"
        "env = StreamExecutionEnvironment.get_execution_environment()\n"
        f"env.from_collection([1]).map(str).name('to s3://K:{S}@b').print()\n"
        "print(env.get_execution_plan())\n"
        "env.execute()\n"
    )
    for options in ([], ["--json"]):
        shown = CliRunner().invoke(main, ["info", "-D", f"my.password={S}", *options, str(program)])
        assert shown.exit_code == 0, shown.output
        assert "to s3://" in shown.output
        assert S not in shown.output
    for arguments in (
        ["savepoint", "inspect", f"nosuch://K:{S}@b/p"],
        ["savepoint", "dispose", f"nosuch://K:{S}@b/p"],
        ["run", "-D", f"parallelism.default=x?password={S}", str(program)],
    ):
        assert S not in CliRunner().invoke(main, arguments).output


@pytest.mark.parametrize("word", ["x", "x.", "token", "a://", "://"])
def test_a_long_text_without_spaces_does_not_take_the_square_of_its_length(word: str) -> None:
    """Else this would take minutes: an error may quote much of what it could not read."""
    text = word * 50_000
    assert masked(f"{text} password=abc: end") == f"{text} password=****** end"
