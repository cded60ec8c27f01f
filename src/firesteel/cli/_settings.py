"""Settings of the command line."""

from __future__ import annotations

from collections.abc import Mapping

import click

from firesteel.common.errors import ConfigurationError

DEFINE = click.option(
    "-D", "definitions", multiple=True, metavar="KEY=VALUE", help="A configuration option; may be repeated."
)


def set_defaults(definitions: tuple[str, ...], named: Mapping[str, str]) -> None:
    """Put what ``-D key=value`` and options of their own say below what programs set. ``named`` wins.

    :raises click.ClickException: it is malformed, or a key is misspelt.
    """
    from firesteel.datastream._session_defaults import set_session_defaults

    set_session_defaults(settings_of(definitions, named))


def settings_of(definitions: tuple[str, ...], named: Mapping[str, str]) -> dict[str, str]:
    """Return the options of a command line. ``named`` wins.

    :raises click.ClickException: it is malformed, or a key is misspelt.
    """
    from firesteel.common.options.checks import check_keys

    settings: dict[str, str] = {}
    for definition in definitions:
        key, equals, value = definition.partition("=")
        if not equals or not key.strip():
            raise click.BadParameter(f"-D {definition}: write it as -D key=value")
        settings[key.strip()] = value.strip()
    settings.update(named)
    try:
        check_keys(settings)
    except ConfigurationError as e:
        raise click.ClickException(str(e)) from e
    return settings
