"""A PostgreSQL server of the tests' own: in a temporary folder, reached by a socket in there."""

from __future__ import annotations

import glob
import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

_FOLDERS = ["", *sorted(glob.glob("/usr/lib/postgresql/*/bin"), reverse=True)]


def program(name: str) -> str | None:
    """Where a program of the server lies; Debian does not put them on the path."""
    for folder in _FOLDERS:
        found = shutil.which(name, path=folder or None)
        if found:
            return os.path.realpath(found)
    return None


class Server:
    """A server that can be stopped, killed and started again."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="eigentext-pg-", dir="/tmp"))
        self.folder.chmod(0o755)
        self._numbers = itertools.count(1)
        self._process: subprocess.Popen[bytes] | None = None
        self._as: dict[str, object] = {}
        if os.getuid() == 0:  # the server refuses to run as root
            names = {entry.pw_name: entry for entry in pwd.getpwall()}
            user = names.get("postgres") or names["nobody"]
            self._as = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
            os.chown(self.folder, user.pw_uid, user.pw_gid)
        initdb = [program("initdb"), "-D", self.data, "--no-sync", "-A", "trust"]
        done = subprocess.run(
            [*initdb, "-U", "eigentext", "-E", "UTF8", "--locale=C"],
            cwd=self.folder,
            capture_output=True,
            check=False,
            **self._as,
        )
        assert done.returncode == 0, done.stderr.decode()

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def start(self) -> Server:
        log = (self.folder / "log").open("ab")
        # fsync is for machines that lose their power: a process that dies loses nothing without
        command = [program("postgres"), "-D", self.data, "-k", self.folder]
        self._process = subprocess.Popen(
            [*command, "-c", "listen_addresses=", "-c", "max_connections=200", "-c", "fsync=off"],
            cwd=self.folder,
            stdout=log,
            stderr=log,
            **self._as,
        )
        log.close()
        deadline = time.monotonic() + 60
        while not self._answers():
            assert time.monotonic() < deadline, (self.folder / "log").read_text()
            assert self._process.poll() is None, (self.folder / "log").read_text()
            time.sleep(0.05)
        return self

    def _answers(self) -> bool:
        import psycopg

        try:
            psycopg.connect(f"user=eigentext dbname=postgres host={self.folder}").close()
        except psycopg.OperationalError:
            return False
        return True

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT ends all connections in order, SIGQUIT as a crash does."""
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(60)
            self._process = None

    def new_database(self) -> str:
        """The URL of an empty place: a schema, which costs less than a database."""
        import psycopg

        name = f"annotations_{next(self._numbers)}"
        where = f"user=eigentext dbname=postgres host={self.folder}"
        with psycopg.connect(where, autocommit=True) as connection:
            connection.execute(f"CREATE SCHEMA {name}")
        options = f"-csearch_path%3D{name}"
        return f"postgresql://eigentext@/postgres?host={self.folder}&options={options}"

    def remove(self) -> None:
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.folder)
