"""The environment: a program is built on it and run by it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

from firesteel.common.config_options import ConfigOption
from firesteel.common.configuration import Configuration
from firesteel.common.errors import PathNotFoundError, ProgramError
from firesteel.common.job_client import JobClient
from firesteel.common.job_execution_result import JobExecutionResult
from firesteel.common.options import pipeline, python
from firesteel.datastream._environment_settings import EnvironmentSettings
from firesteel.datastream._environment_sources import EnvironmentSources
from firesteel.datastream._flink_jars import pass_over_jars
from firesteel.datastream._session_defaults import session_defaults
from firesteel.datastream._uncaught import mask_uncaught
from firesteel.datastream.slot_sharing_group import SlotSharingGroup
from firesteel.program.checks import WrongArgumentError, require_id, require_text
from firesteel.program.distributed_cache import CachedFile, cached_files
from firesteel.program.execution import get_executor
from firesteel.program.output_tag import OutputTag
from firesteel.program.python_settings import require_this_python
from firesteel.program.transformations import Transformation
from firesteel.serializers import PickleSerializer
from firesteel.storage.bounded_calls import bound_calls

if TYPE_CHECKING:
    from firesteel.common.clock import Clock
    from firesteel.connectors.kept.streams import StreamCache

__all__ = ["StreamExecutionEnvironment"]


class StreamExecutionEnvironment(EnvironmentSettings, EnvironmentSources):
    """Where a streaming program is built and run (Flink: ``StreamExecutionEnvironment``).

    Streams begin at the environment (``from_collection``, ``from_source``, ...); their methods add to the
    program, and ``execute`` runs it. Nothing runs before.
    """

    def __init__(
        self,
        configuration: Configuration | None = None,
        *,
        spark: Any = None,
        clock: Clock | None = None,
    ) -> None:
        mask_uncaught()
        self._configuration = Configuration() if configuration is None else configuration
        bound_calls(self._configuration)  # tables look at their files while the program is built
        self._spark = spark
        self._clock = clock
        self._default_local_parallelism: int | None = None
        self._slot_sharing_groups: dict[str, SlotSharingGroup] = {}
        self._transformations: list[Transformation] = []
        self._uids: dict[str, Transformation] = {}
        self._side_outputs: dict[tuple[int, str], OutputTag] = {}
        self._caches: list[StreamCache] = []

    @staticmethod
    def get_execution_environment(
        configuration: Configuration | None = None, *, spark: Any = None, clock: Clock | None = None
    ) -> StreamExecutionEnvironment:
        """A new environment.

        Its settings are those of the file that ``FIRESTEEL_CONF`` names, over them those of the command line,
        over them ``configuration``.

        :param spark: a SparkSession to run in; None: the first job uses the active one or makes one.
        :param clock: the clock of the jobs; tests pass a manual one.
        """
        settings = session_defaults()
        if configuration is not None:
            if not isinstance(configuration, Configuration):
                raise WrongArgumentError(
                    "get_execution_environment() takes a Configuration.", detail=f"got {configuration!r}"
                )
            settings.add_all(configuration)
        return StreamExecutionEnvironment(settings, spark=spark, clock=clock)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "an environment belongs to the program that is being built and cannot go to the workers"
        )

    @property
    def spark(self) -> Any:
        """The SparkSession that was handed in, None if there was none."""
        return self._spark

    @property
    def clock(self) -> Clock | None:
        """The clock that was handed in, None: the one of the machine."""
        return self._clock

    @property
    def serializer(self) -> PickleSerializer:
        """What PyFlink writes collections with; those of ``from_collection`` go with the program here."""
        return PickleSerializer()

    @property
    def transformations(self) -> tuple[Transformation, ...]:
        """The program so far, in the order in which it was built."""
        return tuple(self._transformations)

    @property
    def slot_sharing_groups(self) -> dict[str, SlotSharingGroup]:
        """The registered slot sharing groups by name."""
        return dict(self._slot_sharing_groups)

    # ---- running ----

    def execute(self, job_name: str | None = None) -> JobExecutionResult:
        """Run the program and wait for its end. The environment may then be used for another program.

        :raises JobExecutionError: the job failed; a user's own exception is its ``__cause__``.
        """
        program = self._take_program()
        return get_executor().execute(self, program, self._job_name(job_name))

    def execute_async(self, job_name: str | None = None) -> JobClient:
        """Start the program and give a handle to watch and control it."""
        program = self._take_program()
        return get_executor().execute_async(self, program, self._job_name(job_name))

    def get_execution_plan(self) -> str:
        """The program as a JSON text, in the form of Flink's execution plan. Starts nothing."""
        return get_executor().execution_plan(self)

    def get_stream_graph(self) -> Any:
        """The program as a ``firesteel.graph`` stream graph. Starts nothing."""
        return get_executor().stream_graph(self)

    def close(self) -> None:
        """Forget the program, and drop what is kept of cached streams. Jobs that were started go on."""
        for cache in self._caches:
            cache.drop()
        self._caches.clear()
        self._transformations.clear()
        self._uids.clear()
        self._side_outputs.clear()

    # ---- what goes to the workers with the program ----

    def add_python_file(self, file_path: str) -> None:
        """Make a module, a directory of modules or a zip importable, here and in the workers.

        Of two module files of one name the one that is added last counts, as in PyFlink.
        """
        path = _existing(file_path, "add_python_file")
        before = self._configuration.get(python.FILES)
        self._configuration.set(python.FILES, f"{path},{before}" if before else path)
        if _importable(path) not in sys.path:  # which goes to the workers with the program
            earlier = {_importable(added) for added in before.split(",")} if before else set()
            earlier &= set(sys.path)
            place = min(map(sys.path.index, earlier), default=len(sys.path))
            sys.path.insert(place, _importable(path))

    def add_python_archive(self, archive_path: str, target_dir: str | None = None) -> None:
        """Unpack an archive in the working directory of the workers, under ``target_dir`` or its own name."""
        path = _existing(archive_path, "add_python_archive")
        if target_dir is not None:
            path = f"{path}#{require_text(target_dir, 'target directory', 'add_python_archive')}"
        self._append(python.ARCHIVES, ",", path)

    def register_cached_file(self, file_path: str, name: str, executable: bool = False) -> None:
        """Copy a file to all workers: there ``runtime_context.get_distributed_cache().get_file(name)`` gives
        the path of the copy."""
        path = _existing(file_path, "register_cached_file")
        require_text(name, "name of a cached file", "register_cached_file")
        if any(mark in path + name for mark in ",;"):
            raise ProgramError(
                "The path and the name of a cached file must not have a comma or semicolon.",
                operator="register_cached_file",
                detail=f"{name!r}, {path}",
            )
        if name in (file.name for file in cached_files(self._configuration)):
            raise ProgramError(
                f"There is a cached file {name!r} already.", operator="register_cached_file", detail=path
            )
        self._append(pipeline.CACHED_FILES, ";", str(CachedFile(name, path, bool(executable))))

    def set_python_requirements(
        self, requirements_file_path: str, requirements_cache_dir: str | None = None
    ) -> None:
        """Install the packages of a requirements file for the workers, once for the same content.

        :param requirements_cache_dir: a directory of ``pip download``; packages come from there alone.
        """
        value = _existing(requirements_file_path, "set_python_requirements")
        if requirements_cache_dir is not None:
            value = f"{value}#{_existing(requirements_cache_dir, 'set_python_requirements')}"
        self._configuration.set_string(python.REQUIREMENTS.key, value)

    def set_python_executable(self, python_exec: str) -> None:
        """Name the Python of the workers. It has to be the one that runs this program: functions are pickled
        by it, and Spark starts its workers with the Python of its own settings."""
        require_this_python(require_text(python_exec, "Python executable"), "set_python_executable")
        self._configuration.set_string(python.EXECUTABLE.key, python_exec)

    def add_jars(self, *jars_path: str) -> None:
        """Jars of Flink's own connectors and formats that are Python here are passed over, with a line in the
        log; others are refused."""
        pass_over_jars("add_jars", jars_path)

    def add_classpaths(self, *classpaths: str) -> None:
        """As ``add_jars``."""
        pass_over_jars("add_classpaths", classpaths)

    # ---- inside ----

    def _add(self, transformation: Transformation) -> None:
        self._transformations.append(transformation)

    def _register_uid(self, uid: str, transformation: Transformation) -> None:
        owner = self._uids.setdefault(uid, transformation)
        if owner is not transformation and owner.uid == uid:
            raise ProgramError(
                f"The uid {uid!r} is taken.",
                operator=transformation.name,
                uid=uid,
                detail=f"by {owner.name!r}" + (f" of {owner.created_at}" if owner.created_at else ""),
                hint="state is found by uids, so each operator of a job needs its own",
            )
        self._uids[uid] = transformation

    def _register_side_output(self, emitter: Transformation, tag: OutputTag) -> None:
        other = self._side_outputs.setdefault((emitter.id, tag.tag_id), tag)
        if other.type_info != tag.type_info:
            raise ProgramError(
                f"The side output {tag.tag_id!r} is used with two types.",
                operator=emitter.name,
                detail=f"{other.type_info} and {tag.type_info}",
                hint="use one OutputTag object for one side output",
            )

    def _job_name(self, job_name: str | None) -> str | None:
        if job_name is not None:
            return require_id(job_name, "job name")
        name = self._configuration.get(pipeline.NAME)
        return require_id(name, "job name") if name else None

    def _take_program(self) -> list[Transformation]:
        """Return the program to run and reset the environment, as in Flink."""
        program = list(self._transformations)
        self._transformations.clear()
        self._uids.clear()
        return program

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """Of what is added inside nothing stays in the program when not all of it could be made."""
        before, uids = len(self._transformations), dict(self._uids)
        try:
            yield
        except BaseException:
            del self._transformations[before:]
            self._uids.clear()
            self._uids.update(uids)
            raise

    def _append(self, option: ConfigOption[str | None], separator: str, value: str) -> None:
        before = self._configuration.get(option)
        self._configuration.set(option, f"{before}{separator}{value}" if before else value)


def _importable(path: str) -> str:
    """What goes on the path of modules for a file of ``add_python_file``."""
    return os.path.dirname(path) if path.endswith(".py") else path


def _existing(path: str, operator: str) -> str:
    require_text(path, "path", operator)
    local = path.removeprefix("file://")
    if "://" not in local and not os.path.exists(local):
        raise PathNotFoundError(
            "The file is not there.",
            operator=operator,
            detail=path,
            hint=f"the path is looked up from {os.getcwd()}",
        )
    return os.path.abspath(local) if "://" not in local else path
