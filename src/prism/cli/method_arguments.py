"""The expert options of `prism solve`: how a family is solved. Each has a default that is chosen for the problem."""

from argparse import ArgumentParser

from prism.cli.numbers import real_number, whole_number


def add_method(solve: ArgumentParser) -> None:
    _add_network(solve)
    _add_loss(solve)
    _add_optimiser(solve)
    _add_batch(solve)
    _add_levels(solve)


def _add_network(solve: ArgumentParser) -> None:
    network = solve.add_argument_group(
        "expert options: the network", "Larger networks can be more accurate and take longer per step."
    )
    network.add_argument(
        "--lift",
        metavar="L",
        help="The first layer, through which a point enters: dense:64+affine:4, sites:2, ... (all in `prism list`). A "
        "lift that has the structure of the equation, as `prism structure` finds it, is by far the most effective "
        "choice. By default, auto (several are tried for a short time) from 2 minutes on, else a dense one.",
    )
    network.add_argument(
        "--width",
        type=whole_number,
        metavar="W",
        help="The width of the layers behind the lift (default: spring 64, adam 128).",
    )
    network.add_argument(
        "--depth",
        type=whole_number,
        metavar="L",
        help="The number of activated layers (default: spring 3, or 4 in time; adam 4).",
    )
    network.add_argument(
        "--activation",
        metavar="A",
        help="The nonlinearity of the layers: tanh, sin, ... (all in `prism list`). The default is tanh, and sin for "
        "families in time.",
    )
    network.add_argument(
        "--modulation",
        metavar="M",
        help="How the parameters μ enter the layers: film (the default: they scale and shift hidden values), scale or "
        "shift alone, concat (they are added to the input of each layer), or none (the network ignores μ).",
    )
    network.add_argument(
        "--generator-width",
        type=whole_number,
        metavar="W",
        help="The width of the small network that turns μ into scales and shifts (default: spring 32, or 16 in time; "
        "adam 64). Widen it where u changes in complicated ways with μ.",
    )


def _add_loss(solve: ArgumentParser) -> None:
    loss = solve.add_argument_group(
        "expert options: derivatives and loss", "The loss is the mean square of the residual r of the equation."
    )
    loss.add_argument(
        "--estimator",
        metavar="E",
        help="How operators such as Δu are computed: gram or exact (no noise), or from N random directions, "
        "coordinates:N, rademacher:N, gaussian:N or gram:N, which is cheaper and noisy. With :shared behind it, all "
        "points of a batch share their directions. By default, what is exact and affordable for the family.",
    )
    loss.add_argument(
        "--loss",
        metavar="L",
        help="What is done about the noise of an estimator: shared (default) squares one estimate of r, which is "
        "cheap and biased by its variance; independent multiplies two, which is unbiased.",
    )
    loss.add_argument(
        "--slopes",
        metavar="S",
        help="Whether the gradient ∇ₓr of the residual is made small too: off (default), along N random directions, "
        "or whole (with adam alone). Steps take up to three times as long; `prism bench gpinn` says what it is worth. "
        "At 10,000 dimensions and more spring diverges with it.",
    )
    loss.add_argument(
        "--worst-case",
        type=whole_number,
        metavar="STEPS",
        help="Move the points so many steps towards larger residuals before each step of training, which lowers the "
        "largest error rather than the mean one. Off by default.",
    )


def _add_optimiser(solve: ArgumentParser) -> None:
    optimiser = solve.add_argument_group("expert options: the optimiser", "Lower --rate first if training diverges.")
    optimiser.add_argument(
        "--optimiser",
        metavar="O",
        help="How the network is trained: spring (default), a natural gradient that needs few, expensive steps; or "
        "adam, with many cheap ones (default of potentials whose coordinates interact, and with --networks own).",
    )
    optimiser.add_argument(
        "--rate", type=real_number, metavar="R", help="The size of the first steps (default: spring 0.5, adam 1e-3)."
    )
    optimiser.add_argument(
        "--damping",
        type=real_number,
        metavar="L",
        help="Of spring: how cautious its steps are, relative to the size of its kernel (default 1e-4). Raise it "
        "where the loss jumps.",
    )
    optimiser.add_argument(
        "--momentum",
        type=real_number,
        metavar="M",
        help="Of spring: how much of the last step enters the next, from 0 to below 1 (default 0.8).",
    )
    optimiser.add_argument(
        "--lift-step",
        metavar="S",
        help="Of spring: what moves the lift, the gradient of the residual (slopes), the kernel that moves all other "
        "weights (kernel), or both. By default, as the family needs it.",
    )


def _add_batch(solve: ArgumentParser) -> None:
    batch = solve.add_argument_group(
        "expert options: the batch", "What is drawn for each step; larger batches are less noisy and slower."
    )
    batch.add_argument(
        "--points",
        type=whole_number,
        metavar="N",
        help="The number of points per step (default: spring 400, or fewer in very many dimensions; adam 100).",
    )
    batch.add_argument(
        "--params",
        type=whole_number,
        metavar="M",
        help="The number of parameters per step, each combined with all points of it (default 10, with --pairing "
        "crossed).",
    )
    batch.add_argument(
        "--pairing",
        metavar="P",
        help="paired (default) draws one parameter for each point; crossed (default with --params) combines all "
        "parameters of a batch with all of its points.",
    )


def _add_levels(solve: ArgumentParser) -> None:
    levels = solve.add_argument_group(
        "expert options: levels of a potential (cqho, anharmonic-chain)",
        "Of these, --points are the coordinates in a step (default 64, all with --networks own; a sum or a train "
        "takes all of them) and --params the μ for each (1 for a product, 4 with --networks own; 2 for a sum or a "
        "train, 1 from 1,000 coordinates on). Other defaults are --width 16, --depth 2, --generator-width 16, "
        "--damping 0.01, and --rate 1 with spring, 0.01 with adam. Lifts, estimators, losses, slopes, worst cases, "
        "momentum and pairings are of families alone.",
    )
    levels.add_argument(
        "--coordinates",
        metavar="C",
        help="Of cqho: modes (default), normal modes, in which it is separable, or plain, its own coordinates.",
    )
    levels.add_argument(
        "--levels",
        type=whole_number,
        metavar="L",
        help="How many levels, from the lowest (default 1); more than one where coordinates do not interact.",
    )
    levels.add_argument(
        "--form",
        metavar="F",
        help="How functions of single coordinates make the wave function: product (default where coordinates do not "
        "interact), train (default where they do: a product of small matrices of functions), or sum (of products).",
    )
    levels.add_argument(
        "--rank",
        type=whole_number,
        metavar="P",
        help="The size of the matrices of a train, or the terms of a sum (default 3). Without --form it is a train's.",
    )
    levels.add_argument(
        "--networks",
        metavar="N",
        help="Whether all coordinates share one network that is told their places (shared, the default) or each has "
        "its own (own).",
    )
    levels.add_argument(
        "--nodes",
        type=whole_number,
        metavar="Q",
        help="Gauss nodes per coordinate in training (default 56 for a product, 48 for a sum or a train).",
    )
