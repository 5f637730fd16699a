"""Tasks of enpire in LeRobot's own tools: `lerobot-eval --env.type=enpire --env.task=zip_tie`."""

from lerobot_env_enpire.config import EnpireEnv

__all__ = ["EnpireEnv"]
