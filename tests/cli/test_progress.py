"""What is seen of runs while they go."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console
from small_sets import OPTIONS, dataset

from gmpool.cli.progress import ProgressBars, say_short_training
from gmpool.engine.executors.executor import Alone
from gmpool.engine.executors.stacked import Stacked
from gmpool.engine.job import Job
from gmpool.engine.run_jobs import run_jobs
from gmpool.engine.store import RunStore


def console(*, terminal: bool) -> Console:
    return Console(file=io.StringIO(), force_terminal=terminal, width=120, markup=False)


def text_of(shown: Console) -> str:
    assert isinstance(shown.file, io.StringIO)
    return shown.file.getvalue()


@pytest.fixture
def job() -> Job:
    return Job.make("classify", dataset(), "mean", seeds=1, folds=2, options=OPTIONS)


def test_a_line_per_finished_run_where_there_is_no_terminal(job: Job, tmp_path: object) -> None:
    shown, store = console(terminal=False), RunStore(str(tmp_path))
    for _ in range(2):
        with ProgressBars(shown, 2) as bars:
            run_jobs([job], store, Alone("cpu"), watcher=bars)
    lines = text_of(shown).splitlines()
    assert len(lines) == 4
    for number, line in enumerate(lines):
        fold = number % 2 + 1
        assert line.startswith(f"mean on shapes  seed 42  fold  {fold}  test accuracy ")
        assert ("(recorded before)" in line) == (number > 1)
        assert ("(3 epochs, " in line) == (number < 2)


@pytest.mark.parametrize("executor", [Alone("cpu"), Stacked("cpu", 2)])
def test_bars_on_a_terminal(executor: object, job: Job, tmp_path: object) -> None:
    shown = console(terminal=True)
    with ProgressBars(shown, 2) as bars:
        run_jobs([job], RunStore(str(tmp_path)), executor, watcher=bars)  # type: ignore[arg-type]
        assert bars.progress.tasks[0].completed == 2
        assert len(bars.progress.tasks) == 2, "the bar of a stack goes with it"
    assert "seed 42" in text_of(shown)


@pytest.mark.parametrize("executor", [Alone("cpu"), Stacked("cpu", 2)])
def test_a_log_hears_of_long_runs(
    executor: object, job: Job, tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gmpool.cli.progress.QUIET", 0.0)
    shown = console(terminal=False)
    with ProgressBars(shown, 2) as bars:
        run_jobs([job], RunStore(str(tmp_path)), executor, watcher=bars)  # type: ignore[arg-type]
    assert ": epoch 2 of 3, " in text_of(shown)


def test_names_are_text_and_small_scores_are_not_hidden(job: Job, tmp_path: object) -> None:
    store = RunStore(str(tmp_path))
    (row, _) = run_jobs([job], store, Alone("cpu"))
    named = replace(job, card=job.card._replace(name="known[v2]:o:"))
    shown = console(terminal=False)
    bars = ProgressBars(shown, 1)
    bars.run_finished(named, job.runs[0], replace(row, test=0.00123), reused=True)
    bars.run_finished(named, job.runs[0], replace(row, test=None), reused=True)
    first, second = text_of(shown).splitlines()
    assert "on known[v2]:o:  seed 42" in first
    assert "test accuracy 0.0012 " in first
    assert "test accuracy undefined " in second


def test_a_set_with_one_fold_does_not_number_it(tmp_path: object) -> None:
    job = Job.make("classify", dataset(folds=3), "mean", folds=1, options=OPTIONS)
    one = replace(job, card=job.card._replace(split_digests=job.card.split_digests[:1]))
    shown = console(terminal=False)
    with ProgressBars(shown, 1) as bars:
        run_jobs([one], RunStore(str(tmp_path)), Alone("cpu"), watcher=bars)
        bars.note("a word on the way")
    assert "fold" not in text_of(shown)
    assert "a word on the way\n" in text_of(shown)


def test_training_shorter_than_its_warm_up_is_told_once(
    job: Job, capsys: pytest.CaptureFixture[str]
) -> None:
    say_short_training([job])
    assert capsys.readouterr().err == ""
    short = replace(job, train=replace(job.train, epochs=5, warmup_epochs=50))
    say_short_training([short, short])
    said = capsys.readouterr().err
    assert said.count("training of 5 epochs ends before the learning rate has risen") == 1
    assert "takes 50; the option warmup_epochs" in said
