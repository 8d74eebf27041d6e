import argparse
from collections.abc import Callable

import pytest

from sparsync.verify.formal import coq
from sparsync.verify.ledger import command as ledger
from sparsync.verify.tools.arguments import positive


@pytest.mark.parametrize(("text", "number"), [("1", 1), ("12", 12), (" 3 ", 3)])
def test_a_positive_number_is_read(text: str, number: int) -> None:
    assert positive(text) == number


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5", "", "inf"])
def test_what_is_no_positive_number_is_named(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=rf"^must be a whole number and at least 1, got {text}$"):
        positive(text)


@pytest.mark.parametrize("command", [ledger.main, coq.main])
def test_the_commands_refuse_a_number_of_processes_that_is_none(
    command: Callable[[list[str]], int], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match=r"^2$"):
        command(["--output", "verify.json", "--jobs", "0"])
    assert "argument --jobs: must be a whole number and at least 1, got 0" in capsys.readouterr().err
