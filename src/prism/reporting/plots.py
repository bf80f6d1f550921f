"""The pictures that a run leaves in its directory."""

from pathlib import Path

from prism.files.storage import write_file
from prism.solution.canvas import png
from prism.solution.pictures import convergence, error_over_parameters
from prism.solution.slices import slice_figure, usual_slices
from prism.solution.solution import Solution


def save_plots(solution: Solution, directory: Path) -> list[Path]:
    """Every picture that the run allows; returns their paths."""
    evaluation = solution.training.evaluation
    figures = {"convergence": convergence(solution.history, evaluation)}
    if evaluation is not None:
        figures["error_over_parameters"] = error_over_parameters(evaluation)
    for name, axes in usual_slices(solution.family.domain).items():
        figures[name] = slice_figure(solution.model, solution.family, *axes)
    paths = []
    for name, figure in figures.items():
        path = directory / f"{name}.png"
        write_file(path, png(figure))
        paths.append(path)
    return paths
