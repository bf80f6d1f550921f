"""What `prism COMMAND --help` says of each command: its purpose in a line, what it does, and a worked example."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Text:
    """A purpose for the list of commands, a description in sentences, and an example, as they stand in the help."""

    purpose: str
    description: str
    example: str


SOLVE = Text(
    "train one network for a family of PDEs and measure it",
    """\
Trains one network that solves a family of equations for all of its parameters μ
at once, measures its error on points and parameters never trained on, and writes
everything into a directory. A family and --dim are all it needs: whatever else
is left out is chosen for the problem.""",
    """example:
  prism solve allen-cahn --dim 100 --minutes 1 --out runs/first
  solves Δu + μ₁u − μ₂u³ = f in the unit ball of 100 dimensions for all μ in
  [0.5, 1.5]² at once, and leaves the network, its errors beside the baselines and
  the pictures in runs/first; then, for a longer run from there:
  prism solve --resume runs/first --minutes 3
""",
)
STRUCTURE = Text(
    "find which coordinates interact in an equation, and the lift that suits",
    """\
Reads off an equation which of its coordinates interact, draws them, and names the
lift (the first layer of the network) to solve it with. Nothing is trained.""",
    """example:
  prism structure sine-gordon --dim 200 --scaled --pairs random --out runs/structure
  finds the pairs of coordinates that interact in the source, draws them, and names
  the lift to solve it with.
""",
)
REFERENCE = Text(
    "compute u at one point without a network, with its uncertainty",
    """\
Computes the solution of a family that has a reference or an exact solution, at
one point and one μ, without a network (by a closed form, a series, quadrature or multilevel Picard iteration)
and prints it with its uncertainty, to compare other methods with.""",
    """example:
  prism reference heat --dim 10000 --mu mu1=1 --at x=0,t=0.3
  u at the origin at t = 0.3. x=0 is the origin, x=0.1 the point whose coordinates
  are all 0.1, x=FILE a point from a .csv or .npy file.
""",
)
DEMO = Text(
    "a first solution with pictures, in about a minute",
    """\
Solves a first family of equations in 100 dimensions in about a minute, and tells
on the way what it does. Nothing has to be chosen.""",
    """example:
  prism demo --out runs/demo
""",
)
PREDICT = Text(
    "evaluate u at given points and any μ, from a finished run",
    """\
Reads the solution of a finished run and evaluates u at the given points, for one
value of every parameter. Nothing is trained.""",
    """example:
  prism predict runs/first --mu mu1=0.7 mu2=1.2 --points points.csv --out values.csv
  reads one point per row (.csv, .npy or .npz) and writes a table of the points, u and
  whether it was asked beyond what was trained: x1,x2,...,t,u,outside.
  prism predict runs/first --grid x1=-0.5:0.5:51 mu1=0.5,1,1.5 mu2=1 --out slice.nc
  writes u, and the exact solution where there is one, on a grid as netCDF.
""",
)
TRUST = Text(
    "estimate how far to trust a run's solution at a μ",
    """\
Tells how far a run's solution can be trusted at one μ: whether μ lies in the box
(all intervals of the parameters together) that was trained on, how large the
residual of the equation is there, and, where the family knows an exact solution
to calibrate with, which error that means.""",
    """example:
  prism trust runs/first --mu mu1=2.0 mu2=1.2
  asks outside of the box that was trained on. The first query calibrates on held-out
  parameters and keeps the result in the run's trust.json.
""",
)
TUNE = Text(
    "adapt a run's solution to one μ",
    """\
Goes on training a run's solution for one value of the parameters alone, which
makes it more accurate there, inside or outside of the box that was trained on.
The run itself is not changed.""",
    """example:
  prism tune runs/first --mu mu1=2.0 mu2=1.2 --out runs/first-at-2-1.2
  leaves a solution for this μ that prism predict reads.
""",
)
EXPLORE = Text(
    "write a run as one HTML page with sliders, which needs no server",
    """\
Writes one HTML file with the run's network in it: fields and curves over any two
of some coordinates and time, which follow the sliders of μ at once, beside the exact
solution where there is one, with how far to trust them. It opens from the disk, fetches
nothing, and does not grow with the dimension. The first time it calibrates the trust.""",
    """example:
  prism explore runs/first --out first.html
  writes first.html; open it in a browser.
  prism explore runs/first --serve
  shows the same at an address of this machine, where other coordinates can be added.
""",
)
EXPORT = Text(
    "write a run as StableHLO and for NumPy alone",
    """\
Writes the solution of a run in forms that need no PRISM: as Python that needs
NumPy alone, and as StableHLO for JAX. Both are compared with the run's own
solution before they are written.""",
    """example:
  prism export runs/first --out first
  writes first/solution.py, first/solution.stablehlo and first/README.md, which tells
  how to use them.
""",
)
INVERT = Text(
    "infer μ from noisy values of u, with intervals",
    """\
Infers the physical parameters μ from noisy values of u through the solution of a
run, with 95 % intervals, and says which of them the data do not determine.""",
    """example:
  prism invert runs/first data.csv --noise 0.01 --out runs/first-inverted
  reads one observation per row (the coordinates, then the value of u; or .npz with
  points and u), infers μ and draws the likelihood. Several files are several
  data sets, each inverted by itself.
""",
)
BENCH = Text(
    "run a study of the method: its table, figure and JSON",
    """\
Runs one of the studies that the documents draw on, and writes its table, figure
and numbers. It says beforehand about how long it takes, and on the way how much
time is left; `prism list` shows the durations of all studies.""",
    """example:
  prism bench estimators --out runs/estimators
  measures variance, bias, cost and error of each estimator at 100 to 100,000
  dimensions in about 6 minutes; --full takes longer for each.

the studies:
  estimators   how the derivatives are estimated
  solvers      the default with one thing changed at a time
  motivation   one network for all speeds of a convection against one for each
  sampling     speeds drawn uniformly or log-uniformly
  transfer     asked at speeds outside the trained interval
  variance     how noisy the gradient is over the parameters
  decoupling   what a step costs with and without parameters
  modulation   scale, shift, or both, through which the parameters enter
  trust        the error estimated at 200 parameters beside the true one
  inversion    how often its intervals hold the truth
  structure    each lift on problems of each structure
  blocks       weights shared in blocks, to 5,000,000 dimensions
  parabolic    semilinear equations at one point, beside DeepBSDE and deep splitting
  hjb          control, with and without worst-case training
  high-order   partial derivatives of high order as a series and by nested reverse mode
  gpinn        with the residual's gradient in the loss and without it
  oscillator   lowest eigenvalues in 100 to 20,000 dimensions, and what limits them
""",
)
LIST = Text(
    "list what can be named, or explain one family",
    """\
Lists the families, lifts, estimators, studies and other things that the options of
the commands name. With a family, explains that one: its equation, parameters and
domain, what is known of its solution, and the command to solve it.""",
    """example:
  prism list allen-cahn
  prism list --json
""",
)
COMPLETION = Text(
    "print a script that completes commands with the tab key",
    """\
Prints a script with which a shell completes commands, options, families, studies,
directories and files as they are typed.""",
    """example:
  prism completion bash > ~/.local/share/bash-completion/completions/prism
  completes in every bash that is started from then on (make the directory first if
  there is none). For the shell at hand alone:
  source <(prism completion bash)
  In zsh, write the script to a file _prism in a directory of $fpath; in fish, to
  ~/.config/fish/completions/prism.fish.
""",
)
