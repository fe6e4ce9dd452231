"""Compiled routines, by topic: inference on factor graphs, and passes of the solver.

They take and return arrays and named tuples of arrays (`g` is always a `FactorArrays`),
draw no random numbers and check nothing: the layers above do that. Hot loops read
arrays into local names first. `docs/notation.rst` lists what single letters mean.

Numba stores compiled code on disk and compiles a routine anew when its own file has
changed. It does not see changes in the other files that the routine calls. Therefore
every file of this package ends with a stamp, a digest of the whole package: a change
anywhere changes every file. ``make stamp`` rewrites the stamps, the targets that run or
build the package do so first, and a test fails if a stamp is not current.
"""

# ruff: noqa: F401  (these are the names that the layers above use)
from spanforest._compiled.averages import Averages
from spanforest._compiled.cells import (
    TIE,
    TRAINING_TIE,
    labelling_score,
)
from spanforest._compiled.certificates import augment_rows
from spanforest._compiled.coordinates import expand_rows
from spanforest._compiled.decorators import Packed, pack
from spanforest._compiled.enumeration import (
    FEW_LABELLINGS,
    exhaustive_rows,
    flip_margins,
    score_all,
)
from spanforest._compiled.forests import forest_max_marginals, forest_max_sums
from spanforest._compiled.k_best import forest_k_best_rows
from spanforest._compiled.labellings import Mixtures
from spanforest._compiled.leaves import add_shared_leaves, dense_leaves, sparse_leaves
from spanforest._compiled.loss_terms import LossTerm
from spanforest._compiled.messages import (
    CERTIFYING_SWEEPS,
    Messages,
    max_product_rows,
    message_buffers,
    tree_reweighted_rows,
)
from spanforest._compiled.passes import (
    Inspection,
    dense_pass,
    kernel_pass,
    sparse_pass,
)
from spanforest._compiled.products import room_for_products, worst_pairs
from spanforest._compiled.records import (
    LOSS_FIELDS,
    DecisionTrees,
    DenseRows,
    FactorArrays,
    ProblemArrays,
    Schedule,
    SparseRows,
    State,
    StoppingRule,
    Subproblem,
    Targets,
    read_only,
)
from spanforest._compiled.subproblems import bound_part, carry_messages, restrict
from spanforest._compiled.visits import visit_buffers


# stamp: bf4b671b9d7ccd4c
