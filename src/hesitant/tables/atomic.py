"""Files that are written whole or not at all, and never over another by accident."""

import errno
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from .errors import TableError, option, show_path

__all__ = ["make_way", "refuse_existing", "write_atomically"]

Content = bytes | str | Callable[[BinaryIO], object]


def write_atomically(path: str | os.PathLike[str], data: Content, *, force: bool = False) -> Path:
    """Write a file so that its name only ever stands for the whole content.

    The content goes to a temporary file in the same folder, reaches the disk, and then takes the
    name. Whatever interrupts this (an exception, Ctrl-C, a full disk) leaves the folder as it was;
    on Linux, where the temporary file has no name, so does killing the process.

    Parameters
    ----------
    path : str or path
        The file to write.
    data : bytes, str or callable
        The content; text is written as UTF-8. A callable receives the open binary file and writes
        to it; an exception it raises is passed on.
    force : bool, default=False
        Whether to replace an existing file. Without it, not even a file that appears while this
        function is writing is replaced.

    Returns
    -------
    pathlib.Path
        The file written.

    Raises
    ------
    TableError
        If the file exists already or cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_atomically(folder + "/note.txt", "hello")
    ...     path.read_text()
    'hello'
    """
    target = Path(path)
    name = show_path(str(target))
    try:
        # refuse before the work rather than after it; the same is checked again at the end
        _check_target(target, name)
        refuse_existing(target, force)
        if target.is_symlink():
            target = Path(os.path.realpath(target))  # replace the file, not the link to it
        with _temporary(target.parent) as (file, take_name):
            if callable(data):
                data(file)
            else:
                file.write(data.encode() if isinstance(data, str) else data)
            file.flush()
            os.fsync(file.fileno())
            if force:
                _copy_permissions(target, file)
            take_name(target, force)
        _sync_folder(target.parent)
    except FileExistsError as error:
        raise _exists(name) from error
    except OSError as error:
        raise _unwritable(target, name, error) from error
    return Path(path)


def make_way(path: str | os.PathLike[str], *, force: bool) -> None:
    """Make the folder of a file to come, and refuse what `write_atomically` would refuse.

    A command calls this before its work, lest the work be lost for a name.
    """
    target = Path(path)
    name = show_path(str(target))
    try:
        if "\0" not in str(target):
            target.parent.mkdir(parents=True, exist_ok=True)
        _check_target(target, name)
        refuse_existing(target, force)
        with _temporary(target.parent):  # the sure way to know that it may be written to
            pass
    except (FileExistsError, NotADirectoryError) as error:
        raise TableError(
            name,
            f"{show_path(str(target.parent))} cannot be a folder, because a file stands there.",
            "Write to another folder.",
        ) from error
    except OSError as error:
        raise _unwritable(target, name, error) from error


def refuse_existing(path: str | os.PathLike[str], force: bool) -> None:
    """Refuse a name that is taken, if only by a link to nowhere, unless it may be replaced."""
    if os.path.lexists(path) and not force:
        raise _exists(show_path(os.fspath(path)))


def _copy_permissions(target: Path, file: BinaryIO) -> None:
    """Keep a private file private when its content is replaced."""
    if hasattr(os, "fchmod"):
        with suppress(OSError):  # there may be nothing to replace
            os.fchmod(file.fileno(), stat.S_IMODE(target.stat().st_mode))


def _check_target(target: Path, name: str) -> None:
    folder = target.parent
    if "\0" in str(target):
        raise TableError(name, "No file can have this name.", "Choose another.")
    if not folder.is_dir():
        raise TableError(
            name,
            f"The folder {show_path(str(folder))} does not exist.",
            "Make it first, or write to another folder.",
        )
    if target.is_dir():
        raise TableError(name, "This is a folder.", "Add a file name to it.")
    if target.exists() and not target.is_file():
        # replacing a device such as /dev/null would break it for everybody
        raise TableError(name, "This is not an ordinary file.", "Write to a file instead.")


def _exists(name: str) -> TableError:
    return TableError(
        name,
        "The file exists already.",
        f"Replace it with {option('force', True)}, or choose another.",
    )


def _unwritable(target: Path, name: str, error: OSError) -> TableError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        problem = "The disk is full; nothing was written."
        remedy = f"Make room in {show_path(str(target.parent))}, or write to another disk."
    elif isinstance(error, PermissionError):
        problem = f"You have no permission to write in {show_path(str(target.parent))}."
        remedy = "Write to a folder of your own."
    else:
        problem = f"The file cannot be written: {error.strerror or error}."
        remedy = "Write to another folder."
    return TableError(name, problem, remedy)


TakeName = Callable[[Path, bool], None]


@contextmanager
def _temporary(folder: Path) -> Iterator[tuple[BinaryIO, TakeName]]:
    """Open a temporary file, and give the means to name it; remove it if it is not named."""
    anonymous = _open_anonymous(folder)
    if anonymous is not None:
        with anonymous as file:
            yield file, lambda target, force: _name_anonymous(file, target, force)
        return
    part = _fresh_name(folder)
    try:
        # unlike `tempfile`, "x" grants the permissions that the user's umask allows
        with open(part, "xb") as file:
            yield file, lambda target, force: _close_and_rename(file, part, target, force)
    finally:
        with suppress(FileNotFoundError):
            part.unlink()


def _close_and_rename(file: BinaryIO, part: Path, target: Path, force: bool) -> None:
    file.close()  # some systems do not rename open files
    _rename(part, target, force)


def _fresh_name(folder: Path) -> Path:
    return folder / f".hesitant-{secrets.token_hex(8)}.part"


def _open_anonymous(folder: Path) -> BinaryIO | None:
    """Open a file without a name, where the system can: it vanishes with the process."""
    flag = getattr(os, "O_TMPFILE", None)
    if flag is None or not os.path.isdir("/proc/self/fd"):
        return None
    try:
        return os.fdopen(os.open(folder, flag | os.O_RDWR, 0o666), "w+b")
    except OSError:
        return None  # not on this file system; a named file will tell if anything is wrong


def _name_anonymous(file: BinaryIO, target: Path, force: bool) -> None:
    if not force:
        try:
            _link_anonymous(file, target)  # fails if the name is taken: no race can be lost
            return
        except FileExistsError:
            raise
        except OSError:
            pass  # some sandboxes open nameless files but do not name them: copy below
    part = _fresh_name(target.parent)
    try:
        try:
            _link_anonymous(file, part)
        except OSError:
            with open(part, "xb") as copy:
                file.seek(0)
                shutil.copyfileobj(file, copy)
                os.fchmod(copy.fileno(), stat.S_IMODE(os.fstat(file.fileno()).st_mode))
                copy.flush()
                os.fsync(copy.fileno())
        _rename(part, target, force)
    finally:
        with suppress(FileNotFoundError):
            part.unlink()


def _link_anonymous(file: BinaryIO, path: Path) -> None:
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        # naming the folder makes Python follow the link in /proc, as it must
        link = f"/proc/self/fd/{file.fileno()}"
        os.link(link, path.name, dst_dir_fd=folder, follow_symlinks=True)
    finally:
        os.close(folder)


def _rename(part: Path, target: Path, force: bool) -> None:
    if not force:
        try:
            os.link(part, target)  # fails if the name is taken
            return
        except FileExistsError:
            raise
        except OSError:
            # no hard links here: reserve the name first, and fail if it is taken
            with open(target, "xb"):
                pass
    try:
        os.replace(part, target)
    except BaseException:
        if not force:
            target.unlink()  # only the reservation
        raise


def _sync_folder(folder: Path) -> None:
    """Make the new name survive a power failure, where folders can be synchronised."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
