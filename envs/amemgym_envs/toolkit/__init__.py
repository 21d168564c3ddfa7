"""What the tool environments share: tools and how they are declared, called, answered, scored, and where tasks come from."""

from amemgym_envs.toolkit.answers import same
from amemgym_envs.toolkit.calls import Call, parse, write
from amemgym_envs.toolkit.environment import ToolEnv
from amemgym_envs.toolkit.literals import literal
from amemgym_envs.toolkit.recorder import Recorder
from amemgym_envs.toolkit.tasks import ToolTask, load, save
from amemgym_envs.toolkit.tools import Parameter, Tool, ToolError, catalogue

__all__ = ["Call", "Parameter", "Recorder", "Tool", "ToolEnv", "ToolError", "ToolTask", "catalogue", "literal", "load", "parse",
           "same", "save", "write"]
