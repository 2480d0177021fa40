"""The two-agent pipeline in a program of yours. ``python examples/pipeline_in_code.py`` needs no key.

The models follow scripts; what the documentation shows is between the marks ``[docs]``.
"""

import sys
import tempfile
from pathlib import Path

# [docs]
from checkvalve.gateway.app import build
from checkvalve.gateway.settings import Settings
from checkvalve.gateway.tool_modules import load_tools
from checkvalve.graphs import PipelineLimits, build_pipeline
from checkvalve.graphs.checkpoint import sqlite_checkpointer
from checkvalve.graphs.runs import RunResult

# [/docs]
HERE = Path(__file__).resolve().parent
TASK = "Mail Ann whether anything in my inbox is urgent, and reply to that sender"


# [docs]
def work(folder: Path, task: str | None = None) -> RunResult:
    settings = Settings(manifest=HERE / "run_tools.yaml", database_url=f"sqlite:///{folder}/checkvalve.db")
    with build(settings) as gateway, sqlite_checkpointer(folder / "graph.db") as saver:
        pipeline = build_pipeline(
            gateway.services,
            tools=load_tools(str(HERE / "run_tools.py")),  # or any list of LangChain tools
            reader=f"scripted:{HERE / 'run_reader.jsonl'}",
            actor=f"scripted:{HERE / 'run_actor.jsonl'}",
            checkpointer=saver,
            limits=PipelineLimits(max_turns=20),
            requester="me@corp.example",
        )
        # answered | waiting | stopped | running; without a task: later, in any process, and it decides nothing
        run = pipeline.start(task, thread="t1") if task else pipeline.resume("t1")
        print(run.status, run.answer, run.waiting)
        return run


# [/docs]
if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        asked, later = work(Path(temporary), TASK), work(Path(temporary))
        sys.exit(0 if asked.waiting and later == asked else 1)  # nobody has decided in the meantime
