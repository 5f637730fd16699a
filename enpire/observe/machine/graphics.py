"""OpenGL, which draws what cameras see, and a GPU to train on."""

from __future__ import annotations

import shutil

from enpire.observe.gpu import PROGRAM
from enpire.observe.machine.check import CheckState, MachineCheck
from enpire.observe.machine.children import run_apart

DRAW = """
import mujoco
from OpenGL import GL
scene = "<mujoco><worldbody><light pos='0 0 3'/><geom size='1'/></worldbody></mujoco>"
model = mujoco.MjModel.from_xml_string(scene)
data = mujoco.MjData(model)
mujoco.mj_forward(model, data)
with mujoco.Renderer(model, 64, 64) as renderer:
    renderer.update_scene(data)
    shown = renderer.render()
    name = GL.glGetString(GL.GL_RENDERER).decode()
if shown.max() == shown.min():
    raise SystemExit(f"{name} draws nothing")
print(name)
"""


def opengl() -> MachineCheck:
    """Draw a picture without a display."""
    works, said = run_apart(DRAW)
    if works:
        return MachineCheck("GL", CheckState.GOOD, f"draws by {said}")
    return MachineCheck(
        "GL",
        CheckState.BAD,
        f"draws no picture ({said})",
        "install EGL (apt-get install libegl1 libgl1-mesa-dri) or the GPU's own driver, and leave "
        "MUJOCO_GL unset or egl; without it: no render, replay, --images, --verify cameras",
    )


def gpu() -> MachineCheck:
    """Find out whether torch can train on a GPU."""
    import torch

    if torch.cuda.is_available():
        names = ", ".join(
            f"{torch.cuda.get_device_name(n)} ({torch.cuda.mem_get_info(n)[1] / 2**30:.0f} GiB)"
            for n in range(torch.cuda.device_count())
        )
        return MachineCheck("GPU", CheckState.GOOD, names)
    if shutil.which(PROGRAM) is None:
        return MachineCheck(
            "GPU",
            CheckState.NOTE,
            "none: policies are trained on the processor",
            "none is needed for policies on states; for SmolVLA and pictures an NVIDIA GPU, "
            "or --cluster",
        )
    return MachineCheck(
        "GPU",
        CheckState.BAD,
        f"{PROGRAM} is there, and torch {torch.__version__} cannot use it",
        "update the driver, or install the torch that is made for it (pytorch.org)",
    )
