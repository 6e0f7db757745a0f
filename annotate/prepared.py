"""Statements that are built once and then run with other values.

For statements as small as those of one label, building them anew takes several times as long as running them, and on
PostgreSQL planning them anew as long again. What is prepared here says the same as the query it was built from, and
makes the same objects; `DATABASE_PREPARED` set to false leaves the planning to each run, for poolers between Concord
and PostgreSQL that hand one connection to several clients in turn.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property
from typing import Any, Generic, NamedTuple, TypeVar

import psycopg
from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.db.backends.utils import CursorWrapper
from django.db.models import Field, Model, QuerySet, prefetch_related_objects
from django.db.models.query import RelatedPopulator, get_related_populators

LARGEST = 2**63 - 1
M = TypeVar("M", bound=Model)
Row = TypeVar("Row")

# Stand for the values while the statement is built: no statement of ours holds one of these otherwise.
STANDS_FOR: dict[type, Callable[[int], Any]] = {
    int: lambda number: 2_000_000_001 + number,
    str: lambda number: f"value {number} of a prepared statement",
    datetime.datetime: lambda number: datetime.datetime(1901, 1, 1, 0, 0, number, tzinfo=datetime.UTC),
}


class _Value(NamedTuple):
    """Where the statement wants a value: its name."""

    name: str


class _Built(NamedTuple):
    """A query as its database runs it: `parameters` are fixed ones and `_Value`s."""

    sql: str
    parameters: list[Any]
    converters: list[tuple[int, list[Any], Any]]  # column, functions, expression
    model: tuple[type[Model], slice, list[str], list[RelatedPopulator]] | None  # its columns, their names, relations
    prefetched: tuple[Any, ...]


class Prepared(Generic[Row]):
    """A query, built from the queryset that `build` makes of values with the names and types of `kinds`.

    Calling it with values runs it: rows as the queryset would give them, instances or tuples, in a list. A value
    cannot be None, as another statement asks for that.
    """

    def __init__(self, build: Callable[..., QuerySet[Any, Row]], **kinds: type) -> None:
        self._build, self._kinds = build, kinds

    def __call__(self, **values: Any) -> list[Row]:
        if any(isinstance(value, int) and not -LARGEST <= value <= LARGEST for value in values.values()):
            return []  # no column holds it, and SQLite could not even be asked
        built = self._built
        parameters = [values[given.name] if isinstance(given, _Value) else given for given in built.parameters]
        rows: list[Any] = _run(built.sql, parameters).fetchall()
        if built.converters:
            rows = [_converted(row, built.converters) for row in rows]
        if built.model is None:
            return rows
        found: list[Any] = list(_instances(rows, *built.model))
        if built.prefetched:
            prefetch_related_objects(found, *built.prefetched)
        return found

    def first(self, **values: Any) -> Row | None:
        return next(iter(self(**values)), None)

    @cached_property
    def _built(self) -> _Built:
        stand_ins = {name: STANDS_FOR[kind](place) for place, (name, kind) in enumerate(self._kinds.items())}
        queryset = self._build(**stand_ins)
        compiler = queryset.query.get_compiler(connection=connection)
        sql, given = compiler.as_sql()
        adapt = connection.ops.adapt_datetimefield_value
        meant = {
            adapt(stand_in) if isinstance(stand_in, datetime.datetime) else stand_in: _Value(name)
            for name, stand_in in stand_ins.items()
        }
        parameters = [meant.get(value, value) if isinstance(value, tuple(STANDS_FOR)) else value for value in given]
        if missing := self._kinds.keys() - {value.name for value in parameters if isinstance(value, _Value)}:
            raise ValueError(f"The query does not ask for {', '.join(sorted(missing))}.")
        columns = [select[0] for select in compiler.select[: compiler.col_count]]
        converters = [(place, *pair) for place, pair in compiler.get_converters(columns).items()]
        model = None
        if queryset._fields is None:  # type: ignore[attr-defined]
            info = compiler.klass_info
            first, last = info["select_fields"][0], info["select_fields"][-1] + 1
            names = [column.target.attname for column in columns[first:last]]
            # The stubs know a later Django, in which it takes one more argument.
            relations = get_related_populators(info, compiler.select, connection.alias)  # type: ignore[call-arg]
            model = (queryset.model, slice(first, last), names, relations)
        return _Built(sql, parameters, converters, model, queryset._prefetch_related_lookups)  # type: ignore[attr-defined]


def rows(sql: str, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
    """What a statement that was written by hand finds or returns."""
    found: list[tuple[Any, ...]] = _run(sql, parameters).fetchall()
    return found


def run(sql: str, parameters: Sequence[Any]) -> int:
    """Run a statement that was written by hand; returns the number of rows that it wrote."""
    return int(_run(sql, parameters).rowcount)


Statement = tuple[str, Sequence[Any]]  # SQL with %s for values, and these


class Outcome(NamedTuple):
    """What a statement found or returned, and how many rows it found or wrote."""

    rows: list[tuple[Any, ...]]
    number: int


def together(*statements: Statement) -> list[Outcome]:
    """Run statements one after the other, each of which sees what those before it did.

    On PostgreSQL they are sent at once, inside a transaction: who holds a lock that others wait for holds it for one
    exchange with the database instead of several.
    """
    database = connections[DEFAULT_DB_ALIAS]
    if database.vendor != "postgresql":
        return [_outcome(_run(*statement)) for statement in statements]
    database.ensure_connection()
    with database.wrap_database_errors, database.connection.pipeline():
        cursors = [_run(*statement) for statement in statements]
    return [_outcome(cursor) for cursor in cursors]


def update(instance: Model) -> None:
    """Write every column of a stored row, as `save` does, signals aside."""
    fields = _columns(type(instance))
    values = [_stored(field, instance, add=False) for field in fields]
    run(_update_sql(type(instance)), [*values, instance.pk])


def insert(instance: Model) -> bool:
    """Write a new row; False where the database has one already that is meant to be the only one."""
    return inserted(instance, _outcome(_run(*insertion(instance))))


def insertion(instance: Model, condition: str = "true", values: Sequence[Any] = ()) -> Statement:
    """The statement of `insert`, which writes nothing where this condition, in SQL with its values, does not hold."""
    fields = _columns(type(instance))
    given = [_stored(field, instance, add=True) for field in fields]
    return _insert_sql(type(instance)).format(condition=condition), [*given, *values]


def inserted(instance: Model, outcome: Outcome) -> bool:
    """Whether the row was written; then the instance knows its number."""
    if outcome.rows:
        instance.pk = outcome.rows[0][0]
        instance._state.adding = False
    return bool(outcome.rows)


def _run(sql: str, parameters: Sequence[Any]) -> CursorWrapper:
    """Run a statement that is run again and again; it is counted and logged as any other.

    To PostgreSQL the values go apart from the statement, so that the server can keep the plan.
    """
    database = connections[DEFAULT_DB_ALIAS]
    if database.vendor == "postgresql":
        database.close_if_health_check_failed()
        database.ensure_connection()
        with database.wrap_database_errors:
            cursor = database._prepare_cursor(psycopg.Cursor(database.connection))  # type: ignore[attr-defined]
    else:
        cursor = database.cursor()
    adapt = database.ops.adapt_datetimefield_value
    cursor.execute(sql, [adapt(value) if isinstance(value, datetime.datetime) else value for value in parameters])
    return cursor  # type: ignore[no-any-return]


def _outcome(cursor: CursorWrapper) -> Outcome:
    return Outcome(cursor.fetchall() if cursor.description else [], int(cursor.rowcount))


def _instances(
    rows: Sequence[Any], model: type[Model], own: slice, names: list[str], relations: list[RelatedPopulator]
) -> Iterator[Model]:
    for row in rows:
        instance = model.from_db(connection.alias, names, row[own])
        for relation in relations:
            relation.populate(row, instance)
        yield instance


def _converted(row: Sequence[Any], converters: list[tuple[int, list[Any], Any]]) -> tuple[Any, ...]:
    values = list(row)
    for place, functions, expression in converters:
        for function in functions:
            values[place] = function(values[place], expression, connection)
    return tuple(values)


@cache
def _columns(model: type[Model]) -> list[Field[Any, Any]]:
    return [field for field in model._meta.local_concrete_fields if not field.primary_key]


@cache
def _update_sql(model: type[Model]) -> str:
    given = ", ".join(f'"{field.column}" = %s' for field in _columns(model))
    return f'UPDATE "{model._meta.db_table}" SET {given} WHERE "{model._meta.pk.column}" = %s'  # noqa: S608


@cache
def _insert_sql(model: type[Model]) -> str:
    names = ", ".join(f'"{field.column}"' for field in _columns(model))
    places = ", ".join("%s" for _ in _columns(model))
    return (
        f'INSERT INTO "{model._meta.db_table}" ({names}) SELECT {places} WHERE {{condition}} '
        f'ON CONFLICT DO NOTHING RETURNING "{model._meta.pk.column}"'
    )


def _stored(field: Field[Any, Any], instance: Model, *, add: bool) -> Any:
    return field.get_db_prep_save(field.pre_save(instance, add), connection=connection)
