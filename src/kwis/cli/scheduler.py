"""``--scheduler``: the work done by the workers of a Dask cluster that is there already."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from kwis.errors import InputError, UnsupportedError

_PANEL = "Dask cluster"


def _file(flag: str, text: str) -> typer.models.OptionInfo:
    info: typer.models.OptionInfo = typer.Option(
        flag, metavar="FILE.pem", help=text, rich_help_panel=_PANEL, show_default=False
    )
    return info


Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        rich_help_panel=_PANEL,
        show_default=False,
        help=(
            "Scheduler of a Dask cluster, tcp://host:port or tls://host:port, whose workers see the same "
            "files and read them in batches."
        ),
    ),
]
TlsCa = Annotated[
    str | None, _file("--tls-ca", "Authority that the scheduler's certificate is checked against.")
]
TlsCert = Annotated[str | None, _file("--tls-cert", "Our certificate.")]
TlsKey = Annotated[str | None, _file("--tls-key", "The key of our certificate.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerOptions:
    """What the command line says about a cluster."""

    address: str | None = None
    ca: str | None = None
    cert: str | None = None
    key: str | None = None

    def check(self) -> None:
        """Refuse what cannot work, before anything is read."""
        files = {"tls-ca": self.ca, "tls-cert": self.cert, "tls-key": self.key}
        given = {name: path for name, path in files.items() if path is not None}
        if self.address is None:
            if given:
                raise InputError(f"`{next(iter(given))}` must go with `scheduler`, got no scheduler")
            return
        kind = self.address.partition("://")[0]
        if kind not in ("tcp", "tls") or not self.address.partition("://")[2]:
            raise InputError(f"`scheduler` must be tcp://host:port or tls://host:port, got {self.address!r}")
        if given and kind != "tls":
            raise InputError(
                f"`{next(iter(given))}` must go with a scheduler at tls://, got {self.address!r}"
            )
        for name, path in given.items():
            if not Path(path).is_file():
                raise InputError(f"`{name}` must be a file, and there is no {path!r}")

    @contextmanager
    def client(self) -> Iterator[Any]:
        """A client of that cluster; None without one."""
        if self.address is None:
            yield None
            return
        try:
            import distributed
        except ImportError:
            raise UnsupportedError(
                "`scheduler` needs Dask: pip install 'dask[dataframe,distributed]' pyarrow "
                "(the extra `dask` of kwis)"
            ) from None
        connect: Any = distributed.Client
        try:
            connected = connect(self.address, security=self._security(), set_as_default=False)
        except (OSError, TimeoutError) as failure:
            reason = " ".join(str(failure).split()).rstrip(".") or "timed out"
            raise InputError(
                f"`scheduler` must be the address of a Dask scheduler that answers, got {self.address!r}: "
                f"{reason}"
            ) from None
        with connected:
            yield connected

    def _security(self) -> Any:
        import distributed

        if not self.address or not self.address.startswith("tls://"):
            return None
        # What is not given here is taken from Dask's own configuration.
        files = {"tls_ca_file": self.ca, "tls_client_cert": self.cert, "tls_client_key": self.key}
        security: Any = distributed.Security
        return security(
            require_encryption=True, **{name: path for name, path in files.items() if path is not None}
        )
