"""``python -m kwis`` is the ``kwis`` command."""

from kwis.cli.main import run

run()
