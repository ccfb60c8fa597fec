"""What an efficiency says and draws: no more than its draws tell."""

import dataclasses

import numpy as np
import pytest
from scipy.optimize import brentq

from helpers import exact_excess, quadrature, univariate
from hesitant import MixtureClassifier
from hesitant.datasets import simulate
from hesitant.inference import _efficiency, efficiency


@pytest.fixture(scope="module")
def result():
    data = simulate(n=500, random_state=0)
    return efficiency(
        MixtureClassifier().fit(data.features, data.labels), n_draws=4000, random_state=0
    )


@pytest.mark.parametrize(
    ("ratio", "doubt", "words"),
    [
        (1.04, 0.19, "cannot tell (1.04 ± 0.19 times as much)"),
        (0.9, 0.19, "about as much as labels for all"),
        (1.04, 0.01, "more than labels for all"),
        (0.9, 0.01, "chosen at random"),
    ],
)
def test_words_claim_no_more_than_the_draws_tell(result, ratio, doubt, words):
    pair = "full / complete"
    result = dataclasses.replace(
        result,
        error_efficiency=result.error_efficiency | {pair: ratio},
        monte_carlo_error=result.monte_carlo_error | {f"error {pair}": doubt},
        worth_all={"error": ratio - 1 > 2 * doubt, "parameters": False},
    )
    assert words in result._in_words()


def test_words_about_next_to_nothing(result):
    pair = "full / ignorance"
    result = dataclasses.replace(
        result,
        error_efficiency=result.error_efficiency | {pair: 1.001},
        monte_carlo_error=result.monte_carlo_error | {f"error {pair}": 0.01},
    )
    assert "less than the draws can tell from nothing" in result._in_words()


def test_few_draws_do_not_claim_more_than_all_labels():
    """Where pattern and labels are worth the same, few draws should not decide between them."""

    def beta(t):
        return 1 + 0.5 * t, -3 - t

    def log_ratio(t):
        info = quadrature(beta(t))
        return np.log(exact_excess(info["complete"]) / exact_excess(info["full"]))

    clf = univariate("entropy", beta(brentq(log_ratio, 0, 1)))
    results = [efficiency(clf, n_draws=400, random_state=seed) for seed in range(10)]
    assert (
        sum("about as much as labels for all" in str(r).replace("\n", " ") for r in results) >= 8
    )
    assert sum(r.worth_all["error"] for r in results) <= 1
    assert any(r.error_efficiency["full / complete"] > 1 for r in results)


def test_plot_of_some_parameters(result):
    display = result.plot(parameters="mean")
    names = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert names == [name for name in result.parameters if "mean" in name]
    with pytest.raises(ValueError, match="'slope' is part of no parameter's name"):
        result.plot(parameters="slope")


def test_plot_of_many_parameters_with_long_names(result):
    n = 65
    rng = np.random.default_rng(0)
    errors = {way: 1 + rng.random(n) for way in result.std_errors}
    many = dataclasses.replace(
        result,
        parameters=[
            f"covariance[Iris virginica, petal length {k}, petal width]" for k in range(n)
        ],
        std_errors=errors,
    )
    display = many.plot()
    left = display.ax_
    assert display.figure_.get_size_inches()[1] < 10
    assert len(left.get_yticks()) == _efficiency.MOST == 40
    assert "left out: 25" in left.get_xlabel()
    shown = [many.parameters.index(label.get_text()) for label in left.get_yticklabels()]
    cost = errors["ignorance"] / errors["complete"]
    assert set(shown) == set(np.argsort(-cost)[:40])
    display.figure_.canvas.draw()
    (legend,) = display.figure_.legends
    box = legend.get_window_extent()
    for text in (left.title, display.axes_[1].title, left.xaxis.label, *left.get_xticklabels()):
        assert not box.overlaps(text.get_window_extent())


def test_plot_on_axes_given(result):
    figure = result.plot().figure_
    figure.clear()
    display = result.plot(figure.subplots(1, 2))
    assert display.figure_ is figure
    assert display.ax_.get_legend() is not None
