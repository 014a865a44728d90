"""A run that is stopped by a signal saves and says how to continue; the weights are those of a run without a stop."""

import logging
import os
import signal
import sys
from types import SimpleNamespace

import pytest
from small_models import QUIET, same_weights
from torch.distributed.elastic.multiprocessing import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError, ProcessFailure
from transformers import TrainerCallback

from glossa.base.errors import GlossaError
from glossa.base.run_folder import RunFolder
from glossa.cli.processes import end_with_launcher, launch
from glossa.train import run as training_run
from glossa.train.interrupts import Interrupted, SaveOnSignal
from glossa.train.plan.arguments import parse_settings
from glossa.train.plan.catalog import parse
from glossa.train.run import train
from glossa.train.trainer import GlossaTrainer

SHORT = QUIET | {"max_steps": 9, "save_steps": 100}


FAILED = ChildFailedError("train", {0: ProcessFailure(local_rank=0, pid=1, exitcode=1, error_file="none")})


class At(TrainerCallback):
    """Calls `action` at the start of a step."""

    def __init__(self, step, action):
        self.step, self.action = step, action

    def on_step_begin(self, args, state, control, **kwargs):
        if state.global_step + 1 == self.step:
            self.action()


@pytest.fixture
def act(monkeypatch):
    """Runs from now on call `action` at the start of `step`."""
    build = training_run.build_trainer

    def set_action(step, action):
        def build_with_action(*args):
            trainer = build(*args)
            trainer.add_callback(At(step, action))
            return trainer

        monkeypatch.setattr(training_run, "build_trainer", build_with_action)

    return set_action


def test_a_training_that_fails_gives_the_signals_back(tmp_path, tiny_train, act):
    handlers = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)

    def fail():
        raise ValueError("in the middle")

    act(3, fail)
    with pytest.raises(ValueError, match="in the middle"):
        tiny_train(tmp_path / "run", **SHORT)
    assert handlers == (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT))


class Agreeing:
    """The accelerator of one of two processes. The other one has no signal; one arrives here while they agree."""

    num_processes = 2
    triggered = False

    def __init__(self, saver):
        self.saver = saver

    def set_trigger(self):
        self.triggered = True

    def check_trigger(self):
        answer, self.triggered = self.triggered, False
        self.saver.received = signal.SIGINT
        return answer


def test_a_signal_that_arrives_while_processes_agree_stops_all_of_them_a_step_later():
    """A process that stops alone leaves the others waiting in the next step, until all are killed."""
    trainer, control = SimpleNamespace(), SimpleNamespace(should_save=False)
    saver = SaveOnSignal(trainer)
    trainer.accelerator = Agreeing(saver)
    stops = []
    for _ in range(2):
        saver.on_step_end(None, None, control)
        stops.append((saver.stops, control.should_save))
    assert stops == [(False, False), (True, True)]


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_saves_and_the_run_continues_exactly(tmp_path, tiny_train, act, caplog, number, status):
    handlers = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    whole = tiny_train(tmp_path / "whole", **SHORT)
    assert handlers == (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT))
    during = []

    def interrupt():
        os.kill(os.getpid(), number)
        during.extend(map(signal.getsignal, (signal.SIGTERM, signal.SIGINT)))

    act(4, interrupt)
    with caplog.at_level(logging.WARNING), pytest.raises(SystemExit) as end:
        tiny_train(tmp_path / "run", **SHORT)
    assert during == [signal.SIG_DFL] * 2, "a second signal ends at once"
    assert handlers == (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT))
    assert end.value.code == status
    assert f"Saved {tmp_path}/run/checkpoint-4. Continue with" in caplog.text
    act(-1, None)
    resumed = tiny_train(tmp_path / "run", **SHORT, resume_from_checkpoint="true")
    assert same_weights(whole, resumed)


def test_a_signal_ends_an_evaluation_with_its_batch(tmp_path, tiny_train, monkeypatch, caplog):
    """The case `ctrl-c-in-evaluation`."""
    settings = SHORT | {"eval_strategy": "steps", "eval_steps": 4, "per_device_eval_batch_size": 1, "logging_steps": 2}
    whole = tiny_train(tmp_path / "whole", **settings)
    step, batches, searched = GlossaTrainer.prediction_step, [], []

    def interrupted(trainer, model, inputs, *args, **kwargs):
        batches.append(trainer.state.global_step)
        if len(batches) == 2:
            os.kill(os.getpid(), signal.SIGINT)
        loss, found, labels = step(trainer, model, inputs, *args, **kwargs)
        searched.append(found.shape[1])
        return loss, found, labels

    monkeypatch.setattr(GlossaTrainer, "prediction_step", interrupted)
    with caplog.at_level(logging.WARNING), pytest.raises(SystemExit) as end:
        tiny_train(tmp_path / "run", **settings)
    assert end.value.code == 130 and batches == [4, 4]
    assert searched[1] == 2, "the start and one token"
    assert f"Saved {tmp_path}/run/checkpoint-4. Continue with" in caplog.text
    monkeypatch.setattr(GlossaTrainer, "prediction_step", step)
    assert same_weights(whole, tiny_train(tmp_path / "run", **settings, resume_from_checkpoint="true"))


def test_a_signal_in_the_evaluation_before_training_saves_nothing(tmp_path, monkeypatch, caplog):
    saver = SaveOnSignal(SimpleNamespace(accelerator=SimpleNamespace(num_processes=1)))
    state = SimpleNamespace(global_step=0)
    saver.received = signal.SIGINT
    assert saver.on_prediction_step(None, state, None) is None, "no handlers: a score after the training"
    saver.previous = {signal.SIGINT: signal.SIG_DFL}
    with caplog.at_level(logging.WARNING), pytest.raises(Interrupted):
        saver.on_prediction_step(None, state, None)
    assert "Nothing is trained yet" in caplog.text


def test_a_second_run_in_the_folder_is_refused_while_the_first_lives(tmp_path, tiny_settings, act):
    arguments = tiny_settings(tmp_path / "run", **SHORT)
    refused = []

    def start_another():
        another = RunFolder(tmp_path / "run").lock()
        with pytest.raises(GlossaError, match="Another run is training in") as error, another:
            pass
        refused.append(error.value)

    act(3, start_another)
    train(parse_settings(arguments))
    with RunFolder(tmp_path / "run").lock():
        pass  # the first has ended


def test_a_start_that_fails_leaves_no_folder(tmp_path):
    with pytest.raises(GlossaError), RunFolder(tmp_path / "run").lock():
        raise GlossaError("wrong data")
    assert not (tmp_path / "run").exists()


def test_output_dir_must_be_a_folder_that_can_be_written(tmp_path):
    (tmp_path / "file").write_text("x")
    with (
        pytest.raises(GlossaError, match=r"file, which cannot be written: File exists"),
        RunFolder(tmp_path / "file").lock(),
    ):
        pass
    with pytest.raises(GlossaError, match=r"cannot be written"), RunFolder("/proc/run").lock():
        pass


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (SignalException("killed", signal.SIGTERM), 143),
        (ChildFailedError("train", {0: ProcessFailure(local_rank=0, pid=1, exitcode=1, error_file="none")}), 1),
        (Interrupted(2), 130),
    ],
)
def test_the_launcher_ends_with_the_status_of_its_processes(monkeypatch, error, status):
    def fail(arguments):
        raise error

    monkeypatch.setattr("accelerate.commands.launch.launch_command", fail)
    with pytest.raises(SystemExit) as end:
        launch(parse(["quickstart"]), 2)
    assert end.value.code == status


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process that its parent has ended")
def test_a_single_process_is_told_that_its_launcher_has_ended(monkeypatch):
    """A launcher that starts one process and waits, as Accelerate's does; the process waits for SIGTERM."""
    monkeypatch.setenv("ACCELERATE_MIXED_PRECISION", "no")
    monkeypatch.delenv("LOCAL_RANK", raising=False)
    reader, writer = os.pipe()
    launcher = os.fork()
    if not launcher:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if not os.fork():
            end_with_launcher()
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
            os.write(writer, b"ready")
            received = signal.sigtimedwait([signal.SIGTERM], 60)
            os.write(writer, b"SIGTERM" if received else b"nothing")
            os._exit(0)
        signal.pause()
    os.close(writer)
    assert os.read(reader, 100) == b"ready"
    os.kill(launcher, signal.SIGTERM)
    os.waitpid(launcher, 0)
    assert os.read(reader, 100) == b"SIGTERM"
    os.close(reader)


def test_checkpoints_never_exceed_their_limit_by_more_than_the_one_being_written(tmp_path, tiny_train, monkeypatch):
    run, counts = RunFolder(tmp_path / "run"), []
    monkeypatch.setattr(GlossaTrainer, "_save_rng_state", lambda *_: counts.append(len(run.checkpoints())))
    changes = {"max_steps": 16, "save_steps": 2, "eval_steps": 2, "save_total_limit": 2}
    tiny_train(run.path, **changes)
    assert max(counts) == 3 and len(counts) == 8
    assert len(run.checkpoints()) == 2
