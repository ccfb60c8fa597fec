"""``--config file.toml``: options from a file, under the names they have on the command line."""

import tomllib
from pathlib import Path
from typing import Any

import typer

from hesitant._words import did_you_mean


def read_config(ctx: typer.Context, path: Path | None) -> Path | None:
    """Make the values of a TOML file the defaults of this command's options.

    What is given on the command line wins. Keys are the options' names, with hyphens or
    underscores, at the top of the file or in a table named after the command; the top may hold
    options of other commands, for which the same file serves.
    """
    if path is None:
        return None
    try:
        document = tomllib.loads(path.read_bytes().decode())
    except OSError as error:
        raise typer.BadParameter(f"{path} cannot be read: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise typer.BadParameter(f"{path} is not TOML: {error}.") from error
    siblings = ctx.parent.command.commands if ctx.parent else {}  # type: ignore[attr-defined]
    own = _names(ctx.command)
    anywhere = {name for command in siblings.values() for name in _names(command)}
    section = document.pop(str(ctx.info_name), {})
    if not isinstance(section, dict):
        raise typer.BadParameter(f"{path}: [{ctx.info_name}] must be a table.")
    general = {k: v for k, v in document.items() if k not in siblings}
    for given, known in ((general, anywhere), (section, own)):
        for key, value in given.items():
            if _plain(key) in known:
                continue
            what, form, names = "option", "{!r}", known
            if isinstance(value, dict) and given is general:
                what, form, names = "command", "[{}]", siblings
            hint = did_you_mean(_plain(key), sorted(names), form).replace("_", "-")
            raise typer.BadParameter(f"{path}: there is no {what} {key[:60]!r}.{hint}")
    chosen = {_plain(k): v for k, v in {**general, **section}.items()}
    ctx.default_map = {
        own[k].name: _as_given(v, own[k], path, ctx) for k, v in chosen.items() if k in own
    }
    return path


def _plain(key: str) -> str:
    return key.replace("-", "_")


def _names(command: Any) -> dict[str, Any]:
    """Return the options of a command by name; the file itself is not among them."""
    return {
        _plain(name.lstrip("-")): p
        for p in command.params
        if p.param_type_name == "option" and p.name not in ("config", "help")
        for name in p.opts
        if name.startswith("--")
    }


def _as_given(value: Any, option: Any, path: Path, ctx: typer.Context) -> Any:
    """Return a value as the command line would have given it, checked as that would be."""
    several = bool(getattr(option, "multiple", False))
    values = value if isinstance(value, list) else [value]
    plain = all(isinstance(v, bool | int | float | str) for v in values)
    wrong = ""
    if not plain or (isinstance(value, list) and not several):
        wrong = f"must be {'a list of text' if several else 'text, a number, true or false'}"
    elif any(isinstance(v, bool) for v in values) and not option.is_flag:
        # Python would take true for the number 1
        wrong = f"cannot be {str(value).lower()}: it takes a value"
    if wrong:
        raise typer.BadParameter(f"{path}: {option.opts[0]} {wrong}.")
    # as text, because a number that is not whole would be cut, not refused
    given = [str(v) for v in values] if several else value if option.is_flag else str(value)
    try:
        option.process_value(ctx, given)
    except typer.BadParameter as error:
        raise typer.BadParameter(f"{path}: {option.opts[0]}: {error.message}") from error
    return given
