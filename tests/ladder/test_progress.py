"""Progress: lines where nobody watches, and nothing that could end a run."""

import io

from ladder.progress import Lines, for_terminal


def test_stages_and_their_quarters_are_lines() -> None:
    stream = io.StringIO()
    told = for_terminal(stream)
    told.begin("measuring", 8)
    for _ in range(8):
        told.advance("A")
    quarters = [f"measuring: {done} of 8" for done in (2, 4, 6, 8)]
    assert stream.getvalue().splitlines() == ["measuring", *quarters]


def test_a_reader_that_has_gone_is_no_error() -> None:
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    told = Lines(Gone())
    told.say("anyone?")
    told.say("no")


def test_a_terminal_is_left_as_it_was() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    stream = Terminal()
    told = for_terminal(stream)
    told.begin("observing", 2)
    told.advance("A")
    told.say("[arm] B failed")
    told.close()
    assert "[arm] B failed" in stream.getvalue()
