"""What pictures are drawn with, where it is installed."""

from __future__ import annotations

import io
from typing import Any


def import_pyplot(caller: str) -> Any:
    """matplotlib's pyplot, or an error that says how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(f"{caller} needs matplotlib: pip install 'certree[plot]'") from error
    return plt


def write_picture(ax: Any, kind: str, **settings: Any) -> bytes:
    """The file of a picture that nobody will look at in any other way: pyplot holds a figure until it is closed."""
    import matplotlib.pyplot as plt

    figure = ax.get_figure(root=True)
    picture = io.BytesIO()
    try:
        figure.savefig(picture, format=kind, **settings)
    finally:
        plt.close(figure)
    return picture.getvalue()


def text_width(text: str, size: float, weight: str = "normal") -> float:
    """In points, by the font's own measures, so that no canvas is needed."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    width, _, _ = text_to_path.get_text_width_height_descent(
        text, FontProperties(size=size, weight=weight), ismath=False
    )
    return float(width)
