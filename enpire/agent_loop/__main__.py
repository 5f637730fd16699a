"""`__main__.py API URL [options] -- MCP-SERVER...`: the prompt is read from standard input.

What happens is printed, a JSON object a line. The exit code is 0 when the model has ended or the
campaign has, 1 when the model cannot be asked; the last line of standard error says why.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path


def main() -> int:
    """Run until the model ends, or something does."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # of this package
    from enpire.agent_loop.chat import Chat
    from enpire.agent_loop.conversation import LanguageModel, ModelError
    from enpire.agent_loop.loop import Bounds, run
    from enpire.agent_loop.messages import Messages
    from enpire.agent_loop.remote import Gone, Remote
    from enpire.agent_loop.toolbox import Toolbox
    from enpire.agent_loop.workspace import Workspace

    options = _parser().parse_args()
    bounds = Bounds(options.turns, options.context)
    try:
        model: LanguageModel = (
            Messages(options.url, options.model, options.output, options.thinking)
            if options.api == "messages"
            else Chat(options.url, options.model, options.output, options.pictures)
        )
        with Remote(options.server) as campaign:
            tools = Toolbox(campaign, Workspace(Path.cwd()), options.result)
            ended = run(model, tools, sys.stdin.read(), bounds, _print)
    except ModelError as error:
        print(error, file=sys.stderr)
        return 1
    except Gone as gone:
        ended = str(gone)
    _print({"ended": ended})
    return 0


def _print(said: dict[str, object]) -> None:
    print(json.dumps(said), flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("api", choices=("messages", "chat"), help="Anthropic's, or OpenAI's")
    parser.add_argument("url", help="what comes before /v1/...")
    parser.add_argument("server", nargs="+", help="the words that start the MCP server")
    parser.add_argument("--model", required=True)
    parser.add_argument("--output", type=int, default=16_000, help="tokens of one answer")
    parser.add_argument("--thinking", default="none", help="none, adaptive, or tokens (messages)")
    parser.add_argument("--pictures", action="store_true", help="the model sees them (chat)")
    parser.add_argument("--turns", type=int, default=300)
    parser.add_argument("--context", type=int, default=120_000, help="tokens of a conversation")
    parser.add_argument("--result", type=int, default=20_000, help="characters of a tool's result")
    return parser


if __name__ == "__main__":
    sys.exit(main())
