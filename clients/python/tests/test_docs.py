"""The page docs/python.md: every block of Python runs as it is written, in the order of the page."""

from __future__ import annotations

import builtins
import re
import threading
from typing import Any

import pytest

from support import REPOSITORY, Server, confirm

PAGE = REPOSITORY / "docs/python.md"


def test_the_blocks_of_the_page_run(
    server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pandas")
    pytest.importorskip("polars")
    text = PAGE.read_text(encoding="utf-8")
    blocks = list(re.finditer(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE))
    assert len(blocks) >= 9
    show = builtins.print

    def read_by_a_person(*values: Any, **options: Any) -> None:
        show(*values, **options)
        if address := re.search(r"Open (\S+) and confirm", str(values[0])):
            threading.Thread(target=confirm, args=(address[1],), daemon=True).start()

    monkeypatch.setattr(builtins, "print", read_by_a_person)
    scope: dict[str, Any] = {}
    for block in blocks:
        source = block[1].replace("http://localhost:5080", server.url)
        line = text[: block.start(1)].count("\n")
        exec(compile("\n" * line + source, str(PAGE), "exec"), scope)
    printed = capsys.readouterr().out
    for comment in re.findall(r"^print.*#\s(decimal128.*|Alice.*)$", text, re.MULTILINE):
        assert comment in printed
    assert "did you mean price?" in printed
    assert "Alice Liddell" in printed
