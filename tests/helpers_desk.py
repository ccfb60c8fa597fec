"""A desk with a table of its own, and a client that may ask it."""

import csv

from starlette.testclient import TestClient

from hesitant.datasets import simulate
from hesitant.desk import Desk, make_app

PORT, TOKEN = 8123, "the-token"


def write_table(folder, n=200, name="cells.csv", show=None):
    """Write a table and return its path and true classes by id."""
    data = simulate(n, random_state=3)
    path, truth = folder / name, {}
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["id", "x1", "x2", "label", *(["look"] if show else [])])
        for i, (x, y, z) in enumerate(zip(data.features, data.labels, data.truth, strict=True)):
            truth[f"{i:03d}"] = "ab"[z]
            told = "" if y is None else "ab"[y]
            out.writerow([f"{i:03d}", *x, told, *([show(i)] if show else [])])
    return path, truth


class Sitting:
    """A desk and a client that knows its token."""

    def __init__(self, path, **given):
        self.desk = Desk(path, **{"label": "label", **given})
        self.desk.worker.settle()
        self.client = self.fresh(cookies={f"hesitant_desk_{PORT}": TOKEN})

    def fresh(self, **options):
        app = make_app(self.desk, TOKEN, PORT)
        return TestClient(app, base_url=f"http://127.0.0.1:{PORT}", **options)

    def get(self, path, **query):
        return self.client.get(path, params=query)

    def case(self, **query):
        return self.get("/api/case", **query).json()

    def say(self, row, answer, label=None, **more):
        given = {"row": row, "answer": answer, "label": label, **more}
        return self.client.post("/api/answer", json=given)

    def answers(self):
        return self.get("/api/answers").json()["answers"]
