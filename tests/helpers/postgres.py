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
from contextlib import suppress
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
        while not self.answers():
            assert time.monotonic() < deadline, (self.folder / "log").read_text()
            assert self._process.poll() is None, (self.folder / "log").read_text()
            time.sleep(0.05)
        return self

    def answers(self) -> bool:
        """Whether it takes connections."""
        import psycopg

        try:
            psycopg.connect(f"user=eigentext dbname=postgres host={self.folder}").close()
        except psycopg.OperationalError:
            return False
        return True

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """SIGINT ends all connections in order, SIGQUIT as a crash does.

        SIGKILL ends all of its processes without a word, as when a machine runs out of memory.
        """
        if self._process is not None:
            children = self.children() if how == signal.SIGKILL else []
            self._process.send_signal(how)
            for child in children:
                with suppress(ProcessLookupError):
                    os.kill(child, how)
            self._process.wait(60)
            self._process = None

    def children(self) -> list[int]:
        """The server's processes for connections, and those that write."""
        assert self._process is not None
        listed = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(self._process.pid)],
            capture_output=True,
            text=True,
            check=False,
        )
        return [int(number) for number in listed.stdout.split()]

    def kill_one(self) -> None:
        """Kill the process of a connection of a store; the server ends all, and recovers."""
        import psycopg

        where = f"user=eigentext dbname=postgres host={self.folder}"
        with psycopg.connect(where, autocommit=True) as connection:
            query = (
                "SELECT pid FROM pg_stat_activity WHERE application_name = 'eigentext' "
                "AND pid <> pg_backend_pid() ORDER BY backend_start DESC"
            )
            pids = [row[0] for row in connection.execute(query)]
        os.kill(pids[0], signal.SIGKILL)

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
